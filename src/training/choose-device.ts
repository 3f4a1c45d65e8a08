import type { DatasetWarning } from '../datasets/index.js';
import type { Device, ExecutionProvider } from '../device-names.js';
import { createTaskLearner } from '../engine/index.js';
import { DeviceError, isOrchardError } from '../errors.js';
import { deviceInformation, type GraphExecutor, onnxExecutor, presentDevices } from '../graph/index.js';
import { pause } from '../pauses.js';
import { deviceWarning } from './device-warnings.js';
import type { LoopInput } from './training-loop.js';

/** What a run computes with. */
interface ChosenDevice {
  readonly device: ExecutionProvider;
  readonly executor: GraphExecutor;
}

/** A place that works. */
interface Candidate extends ChosenDevice {
  /** Milliseconds of a small product there. */
  readonly productMs: number;
}

export interface DeviceChoice {
  /** As it was asked for. */
  readonly device: Device;
  /** Computes on the CPU. */
  readonly cpu: GraphExecutor;
  /** Threads for what a device leaves to the CPU. */
  readonly threads: number;
  /** The training whose steps are measured. */
  readonly input: Omit<LoopInput, 'executor'>;
  /** Is told what the user should know. */
  readonly warn: (warning: DatasetWarning) => void;
}

/** A device must take at most this share of the CPU's time to be worth its risks. */
const WORTH = 0.9;
/** Steps before those that are measured: programs are compiled and memory is laid out in them. */
const WARM_UP_STEPS = 2;
const MEASURED_STEPS = 3;
/** No further step is measured after so many milliseconds. */
const MEASURE_MS = 5000;
/** One that takes this many times as long as the CPU for a single product is no GPU, and isn't measured further. */
const HOPELESS = 5;

/**
 * Trains where it was told to, if that works, and with `auto` where a few steps of this very training are fastest. What was
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

/** The places that are looked at for `auto`, the CPU first. */
async function candidates(choice: DeviceChoice): Promise<readonly [Candidate, ...Candidate[]]> {
  const { productMs = 0 } = await deviceInformation('cpu');
  const found: [Candidate, ...Candidate[]] = [{ device: 'cpu', executor: choice.cpu, productMs }];
  for (const device of await presentDevices()) {
    const { productMs } = await deviceInformation(device);
    if (productMs !== undefined) found.push({ device, executor: executorOn(device, choice), productMs });
  }
  return found;
}

/**
 * The candidate whose steps are fastest; the first unless another one is worth it. Where the others are hopeless, nothing is
 * measured.
 * @param stepTime milliseconds of a step.
 */
export async function fastestOf(
  [first, ...others]: readonly [Candidate, ...Candidate[]],
  stepTime: (executor: GraphExecutor) => Promise<number>,
): Promise<Candidate> {
  const hopeful = others.filter(({ productMs }) => productMs <= HOPELESS * first.productMs);
  if (hopeful.length === 0) return first;
  let best = first;
  let bestMs = WORTH * (await stepTime(first.executor));
  for (const candidate of hopeful) {
    const ms = await stepTime(candidate.executor).catch(unlessDevice);
    if (ms < bestMs) [best, bestMs] = [candidate, ms];
  }
  return best;
}

/** Milliseconds of the median step, by a learner that is thrown away. @throws DeviceError, AbortedError */
export async function stepTime(executor: GraphExecutor, input: DeviceChoice['input']): Promise<number> {
  const { task, hyperparameters, signal } = input;
  const { batchSize, language } = hyperparameters;
  const { learner, release } = await createTaskLearner({
    ...{ ...input, executor, head: task.head, options: hyperparameters, batchSize, language },
  });
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

/** A device that fails in its trial is not taken. */
function unlessDevice(thrown: unknown): number {
  if (isOrchardError(thrown) && thrown.code === 'device') return Number.POSITIVE_INFINITY;
  throw thrown;
}
