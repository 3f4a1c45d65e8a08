import type { Encoder, ParameterRole } from '../encoder/index.js';
import {
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
import type { Encoding } from '../text/index.js';
import { feedsFor, padBatch } from './batches.js';
import type { TrainingHead } from './head.js';
import type { FrozenWeights } from './parameters.js';
import { buildEvaluationGraph } from './training-graph.js';

/** Texts read to find the ranges; more texts hardly widen them. */
const MAX_TEXTS = 128;
/**
 * Bits per entry of the embedding tables. Those of positions and types are small, so that 4 bits would save next to
 * nothing.
 */
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
  head: TrainingHead,
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
