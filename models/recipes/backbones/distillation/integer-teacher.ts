import type { Encoder } from '../../../../src/encoder/index.js';
import { feedsFor, padBatch } from '../../../../src/engine/index.js';
import {
  type Graph,
  type GraphExecutor,
  linearInputs,
  type Quantization,
  type Range,
  resolveShape,
  type TensorData,
  volume,
} from '../../../../src/graph/index.js';
import type { Encoding } from '../../../../src/text/index.js';

/**
 * How a graph is to be computed with 8-bit weights and inputs of its linear layers: the ranges that those inputs have over
 * some texts (static quantization, Jacob et al. 2018). Tables stay as they are.
 * @param build makes the graph anew each time.
 */
export async function integerRanges(
  build: () => Graph,
  encoder: Encoder,
  executor: GraphExecutor,
  weights: ReadonlyMap<string, Float32Array>,
  texts: readonly Encoding[],
): Promise<Quantization> {
  const graph = build();
  const layers = linearInputs(graph);
  graph.outputs.clear();
  for (const tensor of new Set([...layers.values()].flat())) graph.output(tensor.name, tensor);
  const compiled = await executor.compile(graph, { weights });
  const names = new Set(graph.inputs.map(({ name }) => name));
  const ranges = new Map<string, Range>();
  for (const text of texts) {
    const padded = padBatch([text], encoder);
    const outputs: Record<string, TensorData> = {};
    for (const [name, { shape }] of graph.outputs) {
      const dims = resolveShape(shape, padded.sizes);
      outputs[name] = { type: 'float32', dims, data: new Float32Array(volume(dims)) };
    }
    await compiled.run(feedsFor(padded, names), outputs);
    for (const [name, { data }] of Object.entries(outputs)) ranges.set(name, widened(ranges.get(name), data));
  }
  await compiled.release();
  const linear = [...layers].map(([weight, inputs]): [string, Range] => [
    weight,
    inputs.reduce((all, { name }) => union(all, ranges.get(name) ?? NO_RANGE), NO_RANGE),
  ]);
  return { linear: new Map(linear), tables: new Map() };
}

const NO_RANGE: Range = { min: 0, max: 0 };

const union = (a: Range, b: Range): Range => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) });

function widened({ min, max }: Range = NO_RANGE, values: TensorData['data']): Range {
  let [least, most] = [min, max];
  for (const each of values) {
    const value = Number(each);
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return { min: least, max: most };
}
