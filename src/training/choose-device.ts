import { type Device, DeviceError, type ExecutionProvider, isOrchardError } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import {
  deviceInformation,
  type GraphExecutor,
  onnxExecutor,
  promisingDevices,
  WORTH_A_DEVICE,
} from '../graph/index.js';
import { pause } from '../system/index.js';
import { createLearner, type LoopInput } from './training-loop.js';
import { deviceWarning } from './training-run.js';

interface ChosenDevice {
  readonly device: ExecutionProvider;
  readonly executor: GraphExecutor;
}

interface DeviceChoice {
  readonly device: Device;
  readonly cpu: GraphExecutor;
  /** Threads for what a device leaves to the CPU. */
  readonly threads: number;
  readonly input: Omit<LoopInput, 'executor'>;
  readonly warn: (warning: DatasetWarning) => void;
}

/** Steps before those that are measured: programs are compiled and memory is laid out in them. */
const WARM_UP_STEPS = 2;
const MEASURED_STEPS = 3;
const MEASURE_MS = 5000; // no further step is measured after this

/**
 * Trains where it was told to, if that works, and with `auto` where a few steps of this very run are fastest. What was
 * asked for by name and doesn't start leaves a warning, and the CPU trains. A device that is lost later fails the run.
 * @throws DeviceError, AbortedError and what `train` throws
 */
export async function trainOnDevice<Result>(
  choice: DeviceChoice,
  train: (executor: GraphExecutor) => Promise<Result>,
): Promise<{ readonly trained: Result; readonly device: ExecutionProvider }> {
  const { cpu, input, warn } = choice;
  const { device, executor } = await chooseDevice(choice);
  input.progress.computesOn(device);
  try {
    return { trained: await train(executor), device };
  } catch (thrown) {
    if (!isOrchardError(thrown) || thrown.code !== 'device' || thrown.when !== 'start') throw thrown;
    warn(deviceWarning(thrown.message));
  }
  input.progress.computesOn('cpu');
  return { trained: await train(cpu), device: 'cpu' };
}

async function chooseDevice(choice: DeviceChoice): Promise<ChosenDevice> {
  const { device, cpu } = choice;
  const onCpu: ChosenDevice = { device: 'cpu', executor: cpu };
  if (device === 'cpu') return onCpu;
  if (device === 'auto') {
    return fastestOf(await candidates(choice), (executor) => stepTime(executor, choice.input));
  }
  const { isAvailable, reason = '' } = await deviceInformation(device);
  if (isAvailable) return { device, executor: executorOn(device, choice) };
  choice.warn(deviceWarning(new DeviceError(device, 'start', reason).message));
  return onCpu;
}

function executorOn(provider: ExecutionProvider, { threads }: DeviceChoice): GraphExecutor {
  return onnxExecutor({ provider, threads });
}

/** The places that are measured for `auto`, the CPU first. */
async function candidates(choice: DeviceChoice): Promise<readonly [ChosenDevice, ...ChosenDevice[]]> {
  const devices = await promisingDevices();
  const others = devices.map((device) => ({ device, executor: executorOn(device, choice) }));
  return [{ device: 'cpu', executor: choice.cpu }, ...others];
}

/**
 * The candidate whose steps are fastest; the first unless another one is worth it. Where there is no other, nothing is
 * measured.
 * @param stepTime milliseconds of a step.
 */
export async function fastestOf(
  [first, ...others]: readonly [ChosenDevice, ...ChosenDevice[]],
  stepTime: (executor: GraphExecutor) => Promise<number>,
): Promise<ChosenDevice> {
  if (others.length === 0) return first;
  let best = first;
  let bestMs = WORTH_A_DEVICE * (await stepTime(first.executor));
  for (const candidate of others) {
    const ms = await stepTime(candidate.executor).catch(unlessDevice);
    if (ms < bestMs) [best, bestMs] = [candidate, ms];
  }
  return best;
}

/** Milliseconds of the median step, by a learner that is thrown away. @throws DeviceError, AbortedError */
export async function stepTime(executor: GraphExecutor, input: DeviceChoice['input']): Promise<number> {
  const { signal } = input;
  const { learner, release } = await createLearner({ ...input, executor });
  const times: number[] = [];
  const startedAt = performance.now();
  try {
    for (let step = 0; step < WARM_UP_STEPS + MEASURED_STEPS; step += 1) {
      await pause(signal);
      const before = performance.now();
      await learner.step(0);
      if (step >= WARM_UP_STEPS) times.push(performance.now() - before);
      if (times.length > 0 && performance.now() - startedAt > MEASURE_MS) break;
    }
  } finally {
    await release();
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.POSITIVE_INFINITY;
}

function unlessDevice(thrown: unknown): number {
  if (isOrchardError(thrown) && thrown.code === 'device') return Number.POSITIVE_INFINITY;
  throw thrown;
}
