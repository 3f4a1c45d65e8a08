import { describe, expect, it } from 'vitest';
import { encoderFile, Graph, type Quantization, readEncoderFile, storedModel } from '../../src/graph/index.js';
import { encodeSafetensors } from '../../src/models/safetensors.js';
import { Random } from '../../src/system/numbers.js';
import { toOnnx } from '../support/to-onnx.js';

const random = Random.fromSeed(4);
const normals = (count: number) => Float32Array.from({ length: count }, () => random.normal());
const [ROWS, INPUTS, OUTPUTS] = [50, 24, 10];

/** Rows of two tables, and a layer with and one without a bias. */
async function anEncoder(quantization?: Quantization) {
  const graph = new Graph();
  const ids = graph.input('ids', 'int64', ['rows']);
  const table = (name: string) => graph.gather(graph.parameter(name, [ROWS, INPUTS]), ids);
  const x = graph.add(table('words.weight'), table('positions.weight'));
  const bias = graph.parameter('first.bias', [INPUTS]);
  const inner = graph.gemm(x, graph.parameter('first.weight', [INPUTS, INPUTS]), { transposeB: true }, bias);
  graph.output('y', graph.gemm(inner, graph.parameter('second.weight', [OUTPUTS, INPUTS]), { transposeB: true }));
  const sizes = { words: ROWS, positions: ROWS, first: INPUTS, second: OUTPUTS };
  const weights = new Map([['first.bias', normals(INPUTS)]]);
  for (const [name, rows] of Object.entries(sizes)) weights.set(`${name}.weight`, normals(rows * INPUTS));
  return storedModel(new Uint8Array(await toOnnx(graph, weights, quantization)));
}

describe('a file of the weights of a graph', () => {
  it('gives back integers, scales, roundings and floats as the graph has them', async () => {
    const model = await anEncoder({
      linear: new Map([
        ['first.weight', { min: -4, max: 3 }],
        ['second.weight', { min: -9, max: 9 }],
      ]),
      tables: new Map([
        ['words.weight', 4],
        ['positions.weight', 8],
      ]),
    });
    const { layers, tables, floats } = readEncoderFile(encoderFile(model), 'encoder.safetensors');
    expect([...layers.keys()].sort()).toEqual(['first.weight', 'second.weight']);
    expect(layers).toEqual(model.layers);
    expect(layers.get('first.weight')?.input.zero).not.toBe(0);
    expect(layers.get('second.weight')?.bias).toBeUndefined();
    expect([...tables.values()].map(({ kind }) => kind).sort()).toEqual(['bytes', 'packed']);
    expect(tables).toEqual(model.tables);
    expect(floats.get('first.bias')?.values).toEqual(model.layers.get('first.weight')?.bias);
  });

  it('gives back the floats of a graph without integers', async () => {
    const model = await anEncoder();
    const read = readEncoderFile(encoderFile(model), 'encoder.safetensors');
    expect(read.layers.size + read.tables.size).toBe(0);
    expect(read.floats).toEqual(model.floats);
    expect(read.floats.size).toBe(5);
  });

  it.each([
    ['lacks the tensor words.weight.scales', Int8Array.of(1, 2)],
    ['words.weight should be I8', Int32Array.of(1, 2)],
  ])('is refused: %s', (reason, values) => {
    const file = encodeSafetensors(new Map([['words.weight', { shape: [1, 2], values }]]));
    expect(() => readEncoderFile(file, 'encoder.safetensors')).toThrow(reason);
  });
});
