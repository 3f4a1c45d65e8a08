import { setImmediate as nextTurn } from 'node:timers/promises';
import { AbortedError } from '../contract/index.js';
import type { Encoder } from '../encoder/index.js';
import { type CompileOptions, type Feed, type GraphExecutor, type TensorData, volume } from '../graph/index.js';
import { outputsByText, type TextOutputs, type TextWindow } from '../text/index.js';
import { feedsFor, type PaddedBatch, padBatch, rowsPerRun } from './batches.js';
import type { TrainingHead } from './head.js';
import { buildEvaluationGraph, LOGITS } from './training-graph.js';

/** Maximum number of sequences per run; larger runs are no faster. */
const MAX_ROWS_PER_RUN = 64;

interface EvaluationGraph {
  run(feeds: Readonly<Record<string, Feed>>, outputs: Readonly<Record<string, TensorData>>): Promise<unknown>;
  release(): Promise<void>;
}

interface EvaluatorParts {
  readonly compiled: EvaluationGraph;
  readonly inputNames: ReadonlySet<string>;
  readonly head: TrainingHead;
  readonly encoder: Encoder;
}

/** Computes a model's outputs for many texts, without dropout. */
export class Evaluator {
  readonly #parts: EvaluatorParts;

  private constructor(parts: EvaluatorParts) {
    this.#parts = parts;
  }

  /**
   * @param fixed weights to compile into the graph; the others are fed at every run. Default: all are fed.
   *   With quantized weights, the graph has the form `inference`, to which their ranges belong.
   */
  static async create(
    executor: GraphExecutor,
    head: TrainingHead,
    encoder: Encoder,
    fixed?: CompileOptions,
  ): Promise<Evaluator> {
    const graph = buildEvaluationGraph(head, encoder, fixed?.quantization && 'inference');
    const inputNames = new Set(graph.inputs.map(({ name }) => name));
    const { resident } = executor;
    const compiled: EvaluationGraph =
      resident === undefined || fixed?.quantization !== undefined
        ? await executor.compile(graph, fixed)
        : await resident.compile(graph, { ...fixed, stays: new Set() });
    return new Evaluator({ compiled, inputNames, head, encoder });
  }

  /**
   * @param windows windows of the texts, in the order of their rows.
   * @param parameters the weights, as feeds; ones of the executor's own memory, too, unless some are quantized.
   * @returns the outputs of each text's windows, text by text.
   * @throws AbortedError soon after the signal fires
   */
  async outputs(
    windows: readonly TextWindow[],
    parameters: Readonly<Record<string, Feed>>,
    signal?: AbortSignal,
  ): Promise<TextOutputs[]> {
    const { compiled, inputNames, encoder } = this.#parts;
    const results = new Map<TextWindow, Float32Array>();
    const order = [...windows].sort((a, b) => a.encoding.ids.length - b.encoding.ids.length);
    for (const run of this.#runs(order)) {
      const encodings = run.map(({ encoding }) => encoding);
      const batch = padBatch(encodings, encoder);
      const { data, dims } = this.#output(batch.sizes);
      await compiled.run(
        { ...parameters, ...feedsFor(batch, inputNames) },
        { [LOGITS]: { type: 'float32', dims, data } },
      );
      for (const [position, window] of run.entries()) {
        results.set(window, this.#outputsOf(data, run.length, position, window.encoding.ids.length));
      }
      await nextTurn();
      if (signal?.aborted) throw new AbortedError('the evaluation');
    }
    const texts = 1 + windows.reduce((last, { row }) => Math.max(last, row), -1);
    return outputsByText(texts, windows, (window) => results.get(window) ?? new Float32Array());
  }

  release(): Promise<void> {
    return this.#parts.compiled.release();
  }

  #output({ tokens, batch }: PaddedBatch['sizes']) {
    const { head, encoder } = this.#parts;
    const outputs = head.outputs(encoder);
    const dims = head.per === 'text' ? [batch, outputs] : [tokens, batch, outputs];
    return { dims, data: new Float32Array(volume(dims)) };
  }

  /** One window's share of a run's outputs, without padding: [outputs], or [tokens, outputs]. */
  #outputsOf(data: Float32Array, batch: number, position: number, tokens: number): Float32Array {
    const { head, encoder } = this.#parts;
    const outputs = head.outputs(encoder);
    if (head.per === 'text') return data.slice(position * outputs, (position + 1) * outputs);
    const own = new Float32Array(tokens * outputs);
    for (let token = 0; token < tokens; token += 1) {
      const at = (token * batch + position) * outputs;
      own.set(data.subarray(at, at + outputs), token * outputs);
    }
    return own;
  }

  *#runs(order: readonly TextWindow[]): Generator<readonly TextWindow[]> {
    let end = order.length;
    while (end > 0) {
      const longest = order[end - 1]?.encoding.ids.length ?? 1;
      const start = Math.max(0, end - Math.min(MAX_ROWS_PER_RUN, rowsPerRun(this.#parts.encoder, longest)));
      yield order.slice(start, end);
      end = start;
    }
  }
}
