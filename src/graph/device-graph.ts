import { type Device, type ExecutionProvider, isOrchardError } from '../contract/index.js';
import { emptyTensor, type LoadedGraph, type TensorData } from './executor.js';
import { deviceInformation, promisingDevices, WORTH_A_DEVICE } from './onnx/devices.js';
import { resolveShape } from './shape.js';

const WARM_UP = 2;
const RUNS = 3;

/** Milliseconds of the fastest of a few runs over texts without padding. */
async function timedRun(
  graph: LoadedGraph,
  { rows, tokens }: { readonly rows: number; readonly tokens: number },
): Promise<number> {
  const sizes = { batch: rows, tokens };
  const feeds = buffersFor(graph.inputs, sizes);
  const outputs = buffersFor(graph.outputs, sizes);
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < WARM_UP + RUNS; run += 1) {
    const startedAt = performance.now();
    await graph.run(feeds, outputs);
    if (run >= WARM_UP) fastest = Math.min(fastest, performance.now() - startedAt);
  }
  return fastest;
}

/** Filled with ones, which every encoder reads as a text. */
function buffersFor(
  tensors: LoadedGraph['inputs'],
  sizes: Readonly<Record<string, number>>,
): Record<string, TensorData> {
  return Object.fromEntries(
    tensors.map(({ name, type, shape }): [string, TensorData] => {
      const tensor = emptyTensor(type, resolveShape(shape, sizes));
      if (tensor.type === 'int64') tensor.data.fill(1n);
      else tensor.data.fill(1);
      return [name, tensor];
    }),
  );
}

export interface DeviceUse {
  readonly device: ExecutionProvider;
  /** Why it is not the requested device. */
  readonly failure?: string;
}

/** Loads the model's graph on one device. @throws DeviceError, ModelFolderError */
type OpenGraph = (device: ExecutionProvider) => Promise<LoadedGraph>;

/** On the requested device, with `auto` the fastest; on the CPU if that fails. @throws ModelFolderError */
export async function openDeviceGraph(device: Device, open: OpenGraph): Promise<DeviceGraph> {
  if (device === 'cpu') return new DeviceGraph(await open('cpu'), { device }, open);
  if (device === 'auto') return fasterGraph(open);
  const { isAvailable, reason = '' } = await informationOf(device);
  if (!isAvailable) return onCpu(open, `${device} can't be used: ${reason}`);
  try {
    return new DeviceGraph(await open(device), { device }, open);
  } catch (thrown) {
    return onCpu(open, deviceFailure(thrown));
  }
}

async function onCpu(open: OpenGraph, failure: string): Promise<DeviceGraph> {
  return new DeviceGraph(await open('cpu'), { device: 'cpu', failure }, open);
}

/** Each device is tested once per thread. */
const known = new Map<ExecutionProvider, ReturnType<typeof deviceInformation>>();

function informationOf(device: ExecutionProvider): ReturnType<typeof deviceInformation> {
  const found = known.get(device) ?? deviceInformation(device);
  known.set(device, found);
  return found;
}

async function fasterGraph(open: OpenGraph): Promise<DeviceGraph> {
  let best = new DeviceGraph(await open('cpu'), { device: 'cpu' }, open);
  for (const device of await promisingDevices(informationOf)) {
    const candidate = await open(device).catch(unlessDevice);
    if (candidate === undefined) continue;
    const wins = await isFaster(candidate, best).catch(unlessDevice);
    if (wins) await best.release();
    else await candidate.release();
    if (wins) best = new DeviceGraph(candidate, { device }, open);
  }
  return best;
}

async function isFaster(candidate: LoadedGraph, than: LoadedGraph): Promise<boolean> {
  for (const size of [
    { rows: 1, tokens: 16 },
    { rows: 16, tokens: 64 },
  ] as const) {
    if ((await timedRun(candidate, size)) > WORTH_A_DEVICE * (await timedRun(than, size))) return false;
  }
  return true;
}

function unlessDevice(thrown: unknown): undefined {
  deviceFailure(thrown);
}

/** The message of a device failure. @throws any other failure */
function deviceFailure(thrown: unknown): string {
  if (isOrchardError(thrown) && thrown.code === 'device') return thrown.message;
  throw thrown;
}

/** A graph that continues on the CPU when its device fails. */
export class DeviceGraph implements LoadedGraph {
  readonly inputs: LoadedGraph['inputs'];
  readonly outputs: LoadedGraph['outputs'];
  readonly bytes: number;
  #graph: LoadedGraph;
  #use: DeviceUse;
  readonly #open: OpenGraph;

  constructor(graph: LoadedGraph, use: DeviceUse, open: OpenGraph) {
    this.inputs = graph.inputs;
    this.outputs = graph.outputs;
    this.bytes = graph.bytes;
    this.#graph = graph;
    this.#use = use;
    this.#open = open;
  }

  get use(): DeviceUse {
    return this.#use;
  }

  async run(feeds: Readonly<Record<string, TensorData>>, outputs: Readonly<Record<string, TensorData>>): Promise<void> {
    try {
      await this.#graph.run(feeds, outputs);
    } catch (thrown) {
      const failure = deviceFailure(thrown);
      const lost = this.#graph;
      this.#graph = await this.#open('cpu');
      this.#use = { device: 'cpu', failure };
      // Releasing a lost device may fail, too.
      await lost.release().catch(() => undefined);
      await this.#graph.run(feeds, outputs);
    }
  }

  release(): Promise<void> {
    return this.#graph.release();
  }
}
