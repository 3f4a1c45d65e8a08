import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EXECUTION_PROVIDERS, type ExecutionProvider, isOrchardError, messageOf } from '../../contract/index.js';
import { requireFor } from '../../system/index.js';
import type { TensorData } from '../executor.js';
import { onnxExecutor } from './onnx-executor.js';
import { loadRuntime } from './runtime.js';

/** A place where models can be computed, as found on this machine. */
export interface DeviceInformation {
  /** As the option `device` takes it. */
  readonly device: ExecutionProvider;
  /** Whether a test on it succeeded just now. */
  readonly isAvailable: boolean;
  /**
   * Milliseconds that a product of two 512×512 matrices took: on the CPU with one thread; on another device including the
   * copies there and back. It distinguishes a GPU from a software renderer, and little else.
   */
  readonly productMs?: number;
  /** Why it is not available. */
  readonly reason?: string;
}

/** A device must take at most this share of the CPU's time for `auto` to take it: it has risks that the CPU hasn't. */
export const WORTH_A_DEVICE = 0.9;
/** A device that takes more than this many times the CPU's time for a single product is no GPU. */
const HOPELESS = 5;

const WIDTH = 512;
/** Runs before the measured one, in which a device compiles its programs. */
const WARM_UP = 1;

/** Tries each place that the runtime knows with a small product; blocks this thread for part of the time. */
export async function listDevices(): Promise<readonly DeviceInformation[]> {
  const found: DeviceInformation[] = [];
  for (const device of EXECUTION_PROVIDERS) {
    if (await isKnown(device)) found.push(await deviceInformation(device));
  }
  return found;
}

/** Tries one device. Never rejects. */
export async function deviceInformation(device: ExecutionProvider): Promise<DeviceInformation> {
  try {
    if (!(await isInstalled(device))) return { device, isAvailable: false, reason: lacking(device) };
    return { device, isAvailable: true, productMs: await productTime(device) };
  } catch (thrown) {
    return { device, isAvailable: false, reason: reasonOf(thrown) };
  }
}

function reasonOf(thrown: unknown): string {
  if (isOrchardError(thrown) && thrown.code === 'device') return thrown.reason;
  return messageOf(thrown);
}

/** The devices worth measuring: those whose product takes at most five times the CPU's. */
export async function promisingDevices(
  look: (device: ExecutionProvider) => Promise<DeviceInformation> = deviceInformation,
): Promise<readonly ExecutionProvider[]> {
  const { productMs: ofCpu = 0 } = await look('cpu');
  const promising: ExecutionProvider[] = [];
  for (const device of await presentDevices()) {
    const { productMs } = await look(device);
    if (productMs !== undefined && productMs <= HOPELESS * ofCpu) promising.push(device);
  }
  return promising;
}

/** Devices other than the CPU that the installed runtime may have, as far as is known without trying them. */
async function presentDevices(): Promise<readonly ExecutionProvider[]> {
  const present: ExecutionProvider[] = [];
  for (const device of EXECUTION_PROVIDERS) {
    if (device !== 'cpu' && (await isKnown(device)) && (await isInstalled(device))) present.push(device);
  }
  return present;
}

async function backends() {
  const { listSupportedBackends } = await loadRuntime();
  return listSupportedBackends();
}

async function isKnown(device: ExecutionProvider): Promise<boolean> {
  return (await backends()).some(({ name }) => name === device);
}

/** A provider that isn't bundled needs a library in the package's folder; without it the runtime writes to stderr. */
async function isInstalled(device: ExecutionProvider): Promise<boolean> {
  const backend = (await backends()).find(({ name }) => name === device);
  if (backend === undefined || backend.bundled) return backend !== undefined;
  const main = requireFor('onnxruntime-node').resolve('onnxruntime-node');
  const folder = join(dirname(main), '../bin/napi-v6', process.platform, process.arch);
  const files = await readdir(folder).catch(() => []);
  return files.some((name) => name.includes(`providers_${device}`));
}

function lacking(device: ExecutionProvider): string {
  return `the installed onnxruntime-node has no ${device} for ${process.platform} ${process.arch}`;
}

/** @throws Error where the device fails, or computes something else than the product. */
async function productTime(provider: ExecutionProvider): Promise<number> {
  // Threads that answer on the CPU make no graphs.
  const { Graph } = await import('../graph.js');
  const graph = new Graph();
  const shape = [WIDTH, WIDTH];
  graph.output('product', graph.gemm(graph.input('a', 'float32', shape), graph.input('b', 'float32', shape)));
  const [a, b, product] = [filled(7), filled(5), filled(1)];
  const compiled = await onnxExecutor({ provider }).compile(graph);
  try {
    let ms = 0;
    for (let run = 0; run <= WARM_UP; run += 1) {
      const startedAt = performance.now();
      await compiled.run({ a, b }, { product });
      ms = performance.now() - startedAt;
    }
    checkProduct(a.data, b.data, product.data);
    return ms;
  } finally {
    await compiled.release();
  }
}

type Matrix = Extract<TensorData, { readonly type: 'float32' }>;

/** Small integers, so that their products and sums are exact. */
function filled(values: number): Matrix {
  const data = Float32Array.from({ length: WIDTH * WIDTH }, (_, at) => (at % values) - 1);
  return { type: 'float32', dims: [WIDTH, WIDTH], data };
}

function checkProduct(a: Float32Array, b: Float32Array, product: Float32Array): void {
  const last = WIDTH - 1;
  for (let at = 0; at < WIDTH; at += 1) {
    for (const [row, column] of [[0, at] as const, [at, last] as const]) {
      let sum = 0;
      for (let inner = 0; inner < WIDTH; inner += 1) {
        sum += (a[row * WIDTH + inner] ?? 0) * (b[inner * WIDTH + column] ?? 0);
      }
      const given = product[row * WIDTH + column];
      if (given !== sum) throw new Error(`it computes ${given} where ${sum} is right`);
    }
  }
}
