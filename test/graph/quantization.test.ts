import { describe, expect, it } from 'vitest';
import { Graph, linearInputs, onnxExecutor, type Quantization, type TensorData } from '../../src/graph/index.js';
import { inputRounding, integerFactor, integerRows } from '../../src/graph/onnx/integer-weights.js';
import { Random } from '../../src/system/numbers.js';

const random = Random.fromSeed(7);
const normals = (count: number) => Float32Array.from({ length: count }, () => random.normal());
const INPUTS = 24;
const OUTPUTS = 10;

/** α·x·Wᵀ + β·b for rows looked up in a table, with all three quantizable. */
function lookupAndProject() {
  const graph = new Graph();
  const ids = graph.input('ids', 'int64', ['rows']);
  const rows = graph.gather(graph.parameter('table', [50, INPUTS]), ids);
  const attributes = { transposeB: true, alpha: 0.7, beta: 1.3 };
  const bias = graph.parameter('bias', [OUTPUTS]);
  graph.output('y', graph.gemm(rows, graph.parameter('weight', [OUTPUTS, INPUTS]), attributes, bias));
  const weights = new Map([
    ['table', normals(50 * INPUTS)],
    ['weight', normals(OUTPUTS * INPUTS)],
    ['bias', normals(OUTPUTS)],
  ]);
  return { graph, weights };
}

async function computed(ids: readonly number[], quantization?: Quantization) {
  const compiled = await onnxExecutor().compile(graph, { weights, ...(quantization && { quantization }) });
  const data = new Float32Array(ids.length * OUTPUTS);
  const feeds: Record<string, TensorData> = {
    ids: { type: 'int64', dims: [ids.length], data: BigInt64Array.from(ids, BigInt) },
  };
  await compiled.run(feeds, { y: { type: 'float32', dims: [ids.length, OUTPUTS], data } });
  await compiled.release();
  return data;
}

const { graph, weights } = lookupAndProject();
const quantization: Quantization = {
  linear: new Map([['weight', { min: -4, max: 4 }]]),
  tables: new Map([['table', 8]]),
};

describe('a quantized graph', () => {
  it('gives the same as integer arithmetic by hand', async () => {
    const table = weights.get('table') ?? normals(0);
    const weight = weights.get('weight') ?? normals(0);
    const bias = weights.get('bias') ?? normals(0);
    const largest = (values: Float32Array) => Math.max(...values.map(Math.abs));
    const row = table.subarray(3 * INPUTS, 4 * INPUTS);
    const rowScale = largest(row) / 127;
    const read = row.map((value) => Math.round(value / rowScale) * rowScale);
    const step = 8 / 255;
    const steps = read.map((value) => Math.min(127, Math.max(-128, Math.round(value / step))));
    const expected = Array.from({ length: OUTPUTS }, (_, output) => {
      const factors = weight.subarray(output * INPUTS, (output + 1) * INPUTS);
      const scale = largest(factors) / 63;
      const sum = factors.reduce((all, factor, at) => all + Math.round(factor / scale) * (steps[at] ?? 0), 0);
      return 0.7 * scale * step * sum + 1.3 * (bias[output] ?? 0);
    });
    const y = await computed([3], quantization);
    // The bias is rounded to the steps of the product.
    for (const [at, value] of expected.entries()) expect(y[at]).toBeCloseTo(value, 2);
  });

  it('stays close to float32', async () => {
    const ids = Array.from({ length: 50 }, (_, id) => id);
    const [exact, rounded] = [await computed(ids), await computed(ids, quantization)];
    const error = Math.hypot(...exact.map((value, at) => value - (rounded[at] ?? 0))) / Math.hypot(...exact);
    expect(error).toBeGreaterThan(0);
    expect(error).toBeLessThan(0.03);
  });

  it('stores a weight once that two layers share, each with its own factor', async () => {
    const shared = new Graph();
    const x = shared.input('x', 'float32', ['rows', INPUTS]);
    const weight = shared.parameter('weight', [OUTPUTS, INPUTS]);
    const layer = (alpha: number) => shared.gemm(x, weight, { transposeB: true, alpha });
    shared.output('y', shared.add(layer(1), layer(-0.5)));
    shared.output('single', layer(1));
    const compiled = await onnxExecutor().compile(shared, { weights, quantization });
    const outputs = [new Float32Array(OUTPUTS), new Float32Array(OUTPUTS)] as const;
    const [y, single] = outputs;
    const of = (data: Float32Array): TensorData => ({ type: 'float32', dims: [1, data.length], data });
    await compiled.run({ x: of(normals(INPUTS)) }, { y: of(y), single: of(single) });
    await compiled.release();
    y.forEach((value, at) => {
      expect(value).toBeCloseTo(0.5 * (single[at] ?? Number.NaN), 4);
    });
  });

  it('gives a row the same numbers whatever the other rows are', async () => {
    const alone = await computed([8], quantization);
    const among = await computed([1, 8, 40, 22], quantization);
    expect(among.subarray(OUTPUTS, 2 * OUTPUTS)).toEqual(alone);
  });

  it('keeps float32 for weights that are not named', async () => {
    const nothing = { linear: new Map(), tables: new Map() };
    expect(await computed([1, 2], nothing)).toEqual(await computed([1, 2]));
  });
});

it('finds the inputs of linear layers by the names of their weights', () => {
  const inputs = linearInputs(graph);
  expect([...inputs.keys()]).toEqual(['weight']);
  expect(inputs.get('weight')?.map(({ shape }) => shape)).toEqual([['rows', INPUTS]]);
});

describe('integers', () => {
  it('have a scale for each row, and rows of zeros stay zeros', () => {
    const { integers, scales } = integerRows(Float32Array.of(1, -2, 0, 0), 2);
    expect([...integers]).toEqual([64, -127, 0, 0]);
    expect(scales[0]).toBeCloseTo(2 / 127);
    expect(Number.isFinite(scales[1])).toBe(true);
  });

  it('of a factor take seven bits, inputs first', () => {
    const { integers } = integerFactor(Float32Array.of(1, 2, 3, -10, 0, 6), 2);
    expect([...integers]).toEqual([21, -63, 42, 0, 63, 38]);
  });

  it('of an input represent 0 exactly', () => {
    const { scale, zero } = inputRounding({ min: -1, max: 4 });
    expect(scale).toBeCloseTo(5 / 255);
    expect(zero).toBe(51);
  });
});
