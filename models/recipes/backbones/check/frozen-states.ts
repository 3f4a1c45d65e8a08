import { type Encoder, trainingInputs } from '../../../../src/encoder/index.js';
import { feedsFor, padBatch, type Weights } from '../../../../src/engine/index.js';
import { type CompiledGraph, Graph, type GraphExecutor } from '../../../../src/graph/index.js';
import type { Encoding } from '../../../../src/text/index.js';

const STATES = 'states';
/** Texts that are read at once. */
const BATCH_TEXTS = 32;

/** A text's last hidden states, by token: [tokens, width]. */
export type TextStates = readonly Float32Array[];

/** An encoder whose weights stay as they are. */
export class FrozenEncoder {
  private constructor(
    private readonly encoder: Encoder,
    private readonly compiled: CompiledGraph,
    private readonly inputNames: ReadonlySet<string>,
  ) {}

  /** @param weights by the encoder's own names; all of them. */
  static async create(executor: GraphExecutor, encoder: Encoder, weights: Weights): Promise<FrozenEncoder> {
    const graph = new Graph();
    graph.output(STATES, encoder.states(graph, trainingInputs(graph), { prefix: '' }));
    const compiled = await executor.compile(graph, { weights });
    return new FrozenEncoder(encoder, compiled, new Set(graph.inputs.map(({ name }) => name)));
  }

  get width(): number {
    return this.encoder.width;
  }

  /** Gives each text's states to `take`, in any order; their memory is used again afterwards. */
  async read(encodings: readonly Encoding[], take: (text: number, states: TextStates) => void): Promise<void> {
    const sorted = [...encodings.entries()].sort(([, a], [, b]) => a.ids.length - b.ids.length);
    for (let start = 0; start < sorted.length; start += BATCH_TEXTS) {
      const batch = sorted.slice(start, start + BATCH_TEXTS);
      const padded = padBatch(
        batch.map(([, encoding]) => encoding),
        this.encoder,
      );
      const { tokens } = padded.sizes;
      const { width } = this;
      const values = new Float32Array(tokens * batch.length * width);
      const dims = [tokens * batch.length, width];
      await this.compiled.run(feedsFor(padded, this.inputNames), {
        [STATES]: { type: 'float32', dims, data: values },
      });
      for (const [row, [text, { ids }]] of batch.entries()) {
        const state = (_: unknown, token: number) => {
          const from = (token * batch.length + row) * width;
          return values.subarray(from, from + width);
        };
        take(text, Array.from({ length: ids.length }, state));
      }
    }
  }

  release(): Promise<void> {
    return this.compiled.release();
  }
}
