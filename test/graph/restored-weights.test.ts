import { describe, expect, it } from 'vitest';
import { Graph, type Quantization, restoredWeights } from '../../src/graph/index.js';
import { Random } from '../../src/system/numbers.js';
import { toOnnx } from '../support/to-onnx.js';

const random = Random.fromSeed(3);
const normals = (count: number) => Float32Array.from({ length: count }, () => random.normal());
const [ROWS, INPUTS, OUTPUTS] = [50, 24, 10];

/** Two layers that share a weight, the second times 0.5, over rows of two tables. */
function sharedLayers() {
  const graph = new Graph();
  const ids = graph.input('ids', 'int64', ['rows']);
  const table = (name: string) => graph.gather(graph.parameter(name, [ROWS, INPUTS]), ids);
  const x = graph.add(table('words'), table('positions'));
  const weight = graph.parameter('layer.weight', [OUTPUTS, INPUTS]);
  const bias = graph.parameter('layer.bias', [OUTPUTS]);
  const layer = (alpha: number) => graph.gemm(x, weight, { transposeB: true, alpha, beta: alpha }, bias);
  const scale = graph.parameter('scale', [OUTPUTS]);
  graph.output('y', graph.multiply(graph.add(layer(0.5), layer(1)), scale));
  const weights = new Map([
    ['words', normals(ROWS * INPUTS)],
    ['positions', normals(ROWS * INPUTS)],
    ['layer.weight', normals(OUTPUTS * INPUTS)],
    ['layer.bias', normals(OUTPUTS)],
    ['scale', normals(OUTPUTS)],
  ]);
  return { graph, weights };
}

describe('weights of a graph that holds them as integers', () => {
  const { graph, weights } = sharedLayers();
  const quantization: Quantization = {
    linear: new Map([['layer.weight', { min: -4, max: 4 }]]),
    tables: new Map([
      ['words', 4],
      ['positions', 8],
    ]),
  };

  it('are restored to within half a step of each row', async () => {
    const restored = await restoredWeights(await toOnnx(graph, weights, quantization));
    const largestError = (name: string) => {
      const values = restored.get(name)?.values ?? new Float32Array();
      return Math.max(...(weights.get(name) ?? []).map((value, at) => Math.abs(value - (values[at] ?? 99))));
    };
    const largest = (name: string) => Math.max(...(weights.get(name) ?? []).map(Math.abs));
    expect(largestError('layer.weight')).toBeLessThan(largest('layer.weight') / 63 / 2 + 1e-6);
    expect(largestError('positions')).toBeLessThan(largest('positions') / 127 / 2 + 1e-6);
    expect(largestError('words')).toBeLessThan(largest('words') / 4);
    for (const exact of ['layer.bias', 'scale']) expect(largestError(exact)).toBeLessThan(1e-6);
    expect(restored.get('layer.weight')?.shape).toEqual([OUTPUTS, INPUTS]);
    expect(restored.get('words')?.shape).toEqual([ROWS, INPUTS]);
  });

  it('are those of the float32 graph where nothing is an integer', async () => {
    const restored = await restoredWeights(await toOnnx(graph, weights));
    for (const [name, values] of weights) expect(restored.get(name)?.values).toEqual(values);
  });

  it('are not looked for in files of others', async () => {
    await expect(restoredWeights(Buffer.from([8, 10, 18, 3, 97, 98, 99]))).rejects.toThrow('this library');
    await expect(restoredWeights(Buffer.from('no graph at all'))).rejects.toThrow();
  });
});
