import { setImmediate as nextTurn } from 'node:timers/promises';
import { AbortedError } from '../contract/index.js';
import type { Encoder, ParameterRole } from '../encoder/index.js';
import {
  type CompileOptions,
  type Feed,
  type Graph,
  type GraphExecutor,
  linearInputs,
  type Quantization,
  type Range,
  resolveShape,
  type TableBits,
  type Tensor,
  type TensorData,
  volume,
} from '../graph/index.js';
import { pause } from '../system/index.js';
import { type Encoding, outputsByText, type TextOutputs, type TextWindow } from '../text/index.js';
import { feedsFor, type PaddedBatch, padBatch, rowsPerRun } from './batches.js';
import type { TaskHead } from './head.js';
import type { FrozenWeights } from './parameters.js';
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
  readonly head: TaskHead;
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
    head: TaskHead,
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

/** Texts read to find the ranges; more texts hardly widen them. */
const MAX_TEXTS = 128;
/** Tables of positions and types are small: 4 bits would save next to nothing. */
const TABLE_BITS: Partial<Readonly<Record<ParameterRole, TableBits>>> = { words: 4, table: 8 };

/**
 * Runs some texts through the model and records the range of the inputs of each linear layer in the encoder's layers.
 * Rounding those inputs to integers needs the ranges ("static quantization", Jacob et al. 2018). They are ranges of
 * graphs in the form `inference`. The head's layers stay float32: there are few, and they produce the answer.
 * @param fixed all of the model's weights.
 * @throws AbortedError soon after the signal fires.
 */
export async function calibrate(
  executor: GraphExecutor,
  head: TaskHead,
  encoder: Encoder,
  fixed: FrozenWeights,
  texts: readonly Encoding[],
  signal?: AbortSignal,
): Promise<Quantization> {
  const graph = buildEvaluationGraph(head, encoder, 'inference');
  const parameters = new Map(head.parameters(encoder).map((each) => [each.name, each]));
  const isInLayer = (name: string) => typeof parameters.get(name)?.part === 'number';
  const layers = [...linearInputs(graph)].filter(([weight]) => isInLayer(weight));
  for (const tensor of new Set(layers.flatMap(([, inputs]) => inputs))) graph.output(tensor.name, tensor);
  const compiled = await executor.compile(graph, fixed);
  const ranges = new Map<string, Range>();
  const inputNames = new Set(graph.inputs.map(({ name }) => name));
  try {
    for (const encoding of spread(texts, MAX_TEXTS)) {
      await pause(signal);
      const outputs = outputsFor(graph, encoding);
      await compiled.run(feedsFor(padBatch([encoding], encoder), inputNames), outputs);
      for (const [name, { data }] of Object.entries(outputs)) ranges.set(name, widened(ranges.get(name), data));
    }
  } finally {
    await compiled.release();
  }
  const linear = layers.map(([weight, inputs]) => [weight, rangeOfAll(inputs, ranges)] as const);
  const tables = [...parameters.values()].flatMap(({ name, role }) => {
    const bits = role && TABLE_BITS[role];
    return bits === undefined ? [] : [[name, bits] as const];
  });
  return { linear: new Map(linear), tables: new Map(tables) };
}

const NO_RANGE: Range = { min: 0, max: 0 };

function rangeOfAll(inputs: readonly Tensor[], ranges: ReadonlyMap<string, Range>): Range {
  return inputs.reduce((all, { name }) => {
    const { min, max } = ranges.get(name) ?? NO_RANGE;
    return { min: Math.min(all.min, min), max: Math.max(all.max, max) };
  }, NO_RANGE);
}

/** At most `count` of the items, evenly spaced. */
function spread<T>(all: readonly T[], count: number): T[] {
  const step = Math.max(1, all.length / count);
  return all.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}

function outputsFor(graph: Graph, encoding: Encoding): Record<string, Float32Output> {
  const sizes = { tokens: encoding.ids.length, batch: 1 };
  return Object.fromEntries(
    [...graph.outputs].map(([name, { shape }]) => {
      const dims = resolveShape(shape, sizes);
      return [name, { type: 'float32', dims, data: new Float32Array(volume(dims)) }];
    }),
  );
}

type Float32Output = Extract<TensorData, { readonly type: 'float32' }>;

function widened({ min, max }: Range = NO_RANGE, values: Float32Array): Range {
  for (const value of values) {
    if (value < min) min = value;
    else if (value > max) max = value;
  }
  return { min, max };
}
