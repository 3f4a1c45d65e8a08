import { setImmediate as nextTurn } from 'node:timers/promises';
import { err, ok, type Result } from 'neverthrow';
import type { BertConfig } from '../encoder/index.js';
import { AbortedError } from '../errors.js';
import type { TextOutputs, TextWindow, TrainingHead, WindowOutputs } from '../families/index.js';
import type { CompiledGraph, GraphExecutor, TensorData } from '../graph/index.js';
import type { Weights } from './checkpoint.js';
import { feedsFor, type PaddedBatch, padBatch } from './padded-batch.js';
import { rowsPerRun } from './step-memory.js';
import { buildEvaluationGraph, LOGITS } from './training-graph.js';

/** Sequences of one run; beyond this a larger run is no faster. */
const MAX_ROWS_PER_RUN = 64;

/** Computes a model's outputs for many texts with the weights as they are. */
export class Evaluator {
  private constructor(
    private readonly compiled: CompiledGraph,
    private readonly inputNames: ReadonlySet<string>,
    private readonly head: TrainingHead,
    private readonly encoder: BertConfig,
  ) {}

  /** @param weights that stay fixed; the others are fed. */
  static async create(
    executor: GraphExecutor,
    head: TrainingHead,
    encoder: BertConfig,
    threads: number,
    weights?: Weights,
  ): Promise<Evaluator> {
    const graph = buildEvaluationGraph(head, encoder);
    const inputNames = new Set(graph.inputs.map(({ name }) => name));
    return new Evaluator(
      await executor.compile(graph, { threads, ...(weights && { weights }) }),
      inputNames,
      head,
      encoder,
    );
  }

  /**
   * @param windows of texts, in the order of their rows.
   * @param parameters the weights, as feeds.
   * @returns what each text's windows give, text by text; an AbortedError soon after the signal fires.
   */
  async outputs(
    windows: readonly TextWindow[],
    parameters: Readonly<Record<string, TensorData>>,
    signal: AbortSignal,
  ): Promise<Result<TextOutputs[], AbortedError>> {
    const results = new Map<TextWindow, Float32Array>();
    const order = [...windows].sort((a, b) => a.encoding.ids.length - b.encoding.ids.length);
    for (const run of this.#runs(order)) {
      const encodings = run.map(({ encoding }) => encoding);
      const batch = padBatch(encodings, this.encoder.pad_token_id);
      const { data, dims } = this.#output(batch.sizes);
      await this.compiled.run(
        { ...parameters, ...feedsFor(batch, this.inputNames) },
        { [LOGITS]: { type: 'float32', dims, data } },
      );
      for (const [position, window] of run.entries()) {
        results.set(window, this.#outputsOf(data, run.length, position, window.encoding.ids.length));
      }
      await nextTurn();
      if (signal.aborted) return err(new AbortedError('the evaluation'));
    }
    return ok(byText(windows, results));
  }

  release(): Promise<void> {
    return this.compiled.release();
  }

  #output({ tokens, batch }: PaddedBatch['sizes']) {
    const { per } = this.head;
    const outputs = this.head.outputs(this.encoder);
    const dims = per === 'text' ? [batch, outputs] : [tokens, batch, outputs];
    return { dims, data: new Float32Array(dims.reduce((product, size) => product * size, 1)) };
  }

  /** One window's part of a run's outputs, padding left out: [outputs], or [tokens, outputs]. */
  #outputsOf(data: Float32Array, batch: number, position: number, tokens: number): Float32Array {
    const { per } = this.head;
    const outputs = this.head.outputs(this.encoder);
    if (per === 'text') return data.slice(position * outputs, (position + 1) * outputs);
    const own = new Float32Array(tokens * outputs);
    for (let token = 0; token < tokens; token += 1) {
      const at = (token * batch + position) * outputs;
      own.set(data.subarray(at, at + outputs), token * outputs);
    }
    return own;
  }

  /** Cuts windows sorted by length into runs. */
  *#runs(order: readonly TextWindow[]): Generator<readonly TextWindow[]> {
    let end = order.length;
    while (end > 0) {
      const longest = order[end - 1]?.encoding.ids.length ?? 1;
      const start = Math.max(0, end - Math.min(MAX_ROWS_PER_RUN, rowsPerRun(this.encoder, longest)));
      yield order.slice(start, end);
      end = start;
    }
  }
}

function byText(
  windows: readonly TextWindow[],
  results: ReadonlyMap<TextWindow, Float32Array>,
): TextOutputs[] {
  const texts: WindowOutputs[][] = [];
  for (const window of windows) {
    const outputs = results.get(window) ?? new Float32Array();
    const text = texts[window.row] ?? [];
    texts[window.row] = text;
    text.push({ encoding: window.encoding, outputs });
  }
  return texts;
}
