import { Arena, loadKernels } from '../src/engine/index.js';

/** GB/s of each kernel and of the plain JavaScript loop: `npx tsx bench/kernels.ts`. */

/** Elements of each array: more than a core's caches hold. */
const COUNT = 4_000_000;
const WIDTH = 256;
const IDS = 4096;
const REPEATS = 20;
const GIGA = 1e9;

const arena = new Arena(Arena.bytesFor([COUNT, COUNT, COUNT, COUNT, IDS]));
const kernels = loadKernels(arena);
const weights = arena.float32(COUNT);
const gradients = arena.float32(COUNT);
const firstMoments = arena.float32(COUNT);
const secondMoments = arena.float32(COUNT);
const ids = arena.int32(IDS);
for (let i = 0; i < IDS; i++) ids[i] = (i * 7919) % (COUNT / WIDTH);
gradients.fill(0.01);
const rows = gradients.subarray(0, IDS * WIDTH);

const scalars = {
  gradientScale: 1,
  beta1: 0.9,
  beta2: 0.999,
  shrink: 0.9999,
  stepSize: 1e-3,
  rootScale: 1,
  epsilon: 1e-8,
};

/** Best of some runs, in GB/s of memory read and written. */
function measure(bytes: number, run: () => void): string {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const start = performance.now();
    run();
    bestMs = Math.min(bestMs, performance.now() - start);
  }
  return (bytes / (bestMs / 1000) / GIGA).toFixed(1).padStart(8);
}

function contest(name: string, bytes: number, kernel: () => void, plain: () => void): void {
  console.log(name.padEnd(16), measure(bytes, kernel), measure(bytes, plain));
}

function plainAdamW(): void {
  const { beta1, beta2, shrink, stepSize, epsilon } = scalars;
  for (let i = 0; i < COUNT; i++) {
    const g = gradients[i] ?? 0;
    const m = beta1 * (firstMoments[i] ?? 0) + (1 - beta1) * g;
    const v = beta2 * (secondMoments[i] ?? 0) + (1 - beta2) * g * g;
    firstMoments[i] = m;
    secondMoments[i] = v;
    weights[i] = (weights[i] ?? 0) * shrink - (stepSize * m) / (Math.sqrt(v) + epsilon);
  }
}

function plainScatter(): void {
  for (let i = 0; i < IDS; i++) {
    const start = (ids[i] ?? 0) * WIDTH;
    for (let j = 0; j < WIDTH; j++) weights[start + j] = (weights[start + j] ?? 0) + (rows[i * WIDTH + j] ?? 0);
  }
}

let sink = 0;
console.log('GB/s'.padEnd(16), '  kernel', '   plain');
contest(
  'adamW',
  28 * COUNT,
  () => kernels.adamW({ weights, gradients, firstMoments, secondMoments }, scalars),
  plainAdamW,
);
contest(
  'sumOfSquares',
  4 * COUNT,
  () => {
    sink += kernels.sumOfSquares(gradients);
  },
  () => {
    let sum = 0;
    for (const gradient of gradients) sum += gradient * gradient;
    sink += sum;
  },
);
contest(
  'accumulate',
  12 * COUNT,
  () => kernels.accumulate(weights, gradients),
  () => {
    for (let i = 0; i < COUNT; i++) weights[i] = (weights[i] ?? 0) + (gradients[i] ?? 0);
  },
);
contest('scatterAddRows', 12 * rows.length, () => kernels.scatterAddRows(weights, WIDTH, ids, rows), plainScatter);
contest(
  'fill',
  4 * COUNT,
  () => kernels.fill(weights, 0),
  () => weights.fill(0),
);
contest(
  'dropoutMask',
  4 * COUNT,
  () => void kernels.dropoutMask(weights, 0.1, { seed: 1, position: 0 }),
  () => {
    for (let i = 0; i < COUNT; i++) weights[i] = Math.random() < 0.1 ? 0 : 1 / 0.9;
  },
);
if (Number.isNaN(sink)) console.log('the sums are not numbers');
