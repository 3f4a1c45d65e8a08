import { setImmediate as nextTurn } from 'node:timers/promises';
import { err, ok, type Result } from 'neverthrow';
import type { BertConfig } from '../encoder/index.js';
import { AbortedError } from '../errors.js';
import type { TrainingHead } from '../families/index.js';
import type { CompiledGraph, GraphExecutor, TensorData } from '../graph/index.js';
import type { Encoding } from '../tokenizer/index.js';
import { feedsFor, padBatch } from './padded-batch.js';
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

  static async create(
    executor: GraphExecutor,
    head: TrainingHead,
    encoder: BertConfig,
    threads: number,
  ): Promise<Evaluator> {
    const graph = buildEvaluationGraph(head, encoder);
    const inputNames = new Set(graph.inputs.map(({ name }) => name));
    return new Evaluator(await executor.compile(graph, { threads }), inputNames, head, encoder);
  }

  /**
   * @param parameters the weights, as feeds.
   * @returns [texts, outputs], in the order given; an AbortedError soon after the signal fires.
   */
  async outputs(
    encodings: readonly Encoding[],
    parameters: Readonly<Record<string, TensorData>>,
    signal: AbortSignal,
  ): Promise<Result<Float32Array, AbortedError>> {
    const { outputs } = this.head;
    const results = new Float32Array(encodings.length * outputs);
    const order = [...encodings.entries()].sort(([, a], [, b]) => a.ids.length - b.ids.length);
    for (const run of this.#runs(order)) {
      const batch = padBatch(
        run.map(([, encoding]) => encoding),
        this.encoder.pad_token_id,
      );
      const logits = new Float32Array(run.length * outputs);
      await this.compiled.run(
        { ...parameters, ...feedsFor(batch, this.inputNames) },
        { [LOGITS]: { type: 'float32', dims: [run.length, outputs], data: logits } },
      );
      for (const [position, [row]] of run.entries()) {
        results.set(logits.subarray(position * outputs, (position + 1) * outputs), row * outputs);
      }
      await nextTurn();
      if (signal.aborted) return err(new AbortedError('the evaluation'));
    }
    return ok(results);
  }

  release(): Promise<void> {
    return this.compiled.release();
  }

  /** Cuts texts sorted by length into runs. */
  *#runs(order: readonly [number, Encoding][]): Generator<readonly [number, Encoding][]> {
    let end = order.length;
    while (end > 0) {
      const longest = order[end - 1]?.[1].ids.length ?? 1;
      const start = Math.max(0, end - Math.min(MAX_ROWS_PER_RUN, rowsPerRun(this.encoder, longest)));
      yield order.slice(start, end);
      end = start;
    }
  }
}
