import { Graph, onnxExecutor, type TensorData } from '../../src/graph/index.js';
import { median } from '../report.js';
import { type Configuration, matrixFlops } from './configurations.js';

interface Product {
  readonly rows: number;
  readonly inner: number;
  readonly columns: number;
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
}

const REPEATS = 8;

/** Floating-point operations per second of one product by itself, the median of several runs. */
async function speedOf({ rows, inner, columns, ...transposed }: Product, threads: number): Promise<number> {
  const graph = new Graph();
  const dimsA = transposed.transposeA ? [inner, rows] : [rows, inner];
  const dimsB = transposed.transposeB ? [columns, inner] : [inner, columns];
  const a = graph.input('a', 'float32', dimsA);
  const b = graph.input('b', 'float32', dimsB);
  graph.output('y', graph.gemm(a, b, transposed));
  const compiled = await onnxExecutor({ threads }).compile(graph);
  const feeds = { a: noise(dimsA), b: noise(dimsB) };
  const outputs = { y: noise([rows, columns]) };
  const seconds: number[] = [];
  for (let run = 0; run <= REPEATS; run += 1) {
    const startedAt = performance.now();
    await compiled.run(feeds, outputs);
    if (run > 0) seconds.push((performance.now() - startedAt) / 1000);
  }
  await compiled.release();
  return (2 * rows * inner * columns) / median(seconds);
}

function noise(dims: readonly number[]): TensorData {
  const count = dims.reduce((product, size) => product * size, 1);
  return {
    type: 'float32',
    dims,
    data: Float32Array.from({ length: count }, (_, at) => ((at * 37) % 101) / 101 - 0.5),
  };
}

/** Speed of a large square product, 2048³. */
export function squareCeiling(threads: number): Promise<number> {
  return speedOf({ rows: 2048, inner: 2048, columns: 2048 }, threads);
}

/**
 * Speed of the step's own linear layers if they ran back to back with nothing between them: forward, input
 * gradient and weight gradient of each shape, weighted by their operations.
 */
export async function ownCeiling(configuration: Configuration, threads: number): Promise<number> {
  const { hidden, batch, tokens } = configuration;
  const rows = batch * tokens;
  let flops = 0;
  let seconds = 0;
  const layers = [
    { inputs: hidden, outputs: hidden, count: 4 },
    { inputs: hidden, outputs: 4 * hidden, count: 1 },
    { inputs: 4 * hidden, outputs: hidden, count: 1 },
  ];
  for (const { inputs, outputs, count } of layers) {
    const products: Product[] = [
      { rows, inner: inputs, columns: outputs, transposeB: true },
      { rows, inner: outputs, columns: inputs },
      { rows: outputs, inner: rows, columns: inputs, transposeA: true },
    ];
    for (const product of products) {
      const work = count * 2 * rows * inputs * outputs;
      flops += work;
      seconds += work / (await speedOf(product, threads));
    }
  }
  return flops / seconds;
}

/** Operations per second of a step's matrix products, over the step's whole time. */
export const speedOfStep = (configuration: Configuration, milliseconds: number): number =>
  matrixFlops(configuration) / (milliseconds / 1000);
