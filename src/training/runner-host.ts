import { setTimeout as sleep } from 'node:timers/promises';
import type { TrainingStats } from '../contract/index.js';
import { AbortedError, DeviceError, reviveError, TrainingError } from '../errors.js';
import { ownFile } from '../own-files.js';
import type { HostMessage, RunnerMessage } from './messages.js';
import type { TrainingHost, TrainingRunOptions, TrainingSpec } from './training-run.js';

/** A started thread or process, as a host sees it. */
export interface Runner {
  send(message: HostMessage): void;
  onMessage(listener: (message: RunnerMessage) => void): void;
  /** Called once, when it has exited. */
  onExit(listener: (exit: RunnerExit) => void): void;
}

/** How a runner came to its end. */
export interface RunnerExit {
  /** Why, unless it exited normally. */
  readonly reason?: string;
  /** Whether it was asked to stop, as by a supervisor that stops a whole group of processes. */
  readonly wasStopped?: boolean;
  /** Whether it broke down as a whole, which the driver of a device may have brought about. */
  readonly hasCrashed?: boolean;
}

/**
 * How long the host waits to be stopped itself once its runner was: a supervisor that stops both may reach the runner first.
 */
const STOPPED_TOGETHER_MS = 2000;

/**
 * Trains each run in a runner of its own. A runner is asked to stop and exits by itself: terminating a thread
 * while ONNX Runtime works would crash the whole process.
 */
export function runnerHost(start: (spec: TrainingSpec) => Runner): TrainingHost {
  return trackingHost(async (spec, options) => runIn(start(spec), spec, options));
}

function runIn(
  runner: Runner,
  spec: TrainingSpec,
  { signal, onEvent }: TrainingRunOptions,
): Promise<TrainingStats> {
  return new Promise((resolve, reject) => {
    let outcome: Exclude<RunnerMessage, { readonly type: 'event' }> | undefined;
    let { device = 'cpu' } = spec;
    const abort = () => runner.send({ type: 'abort', reason: signal.reason });
    signal.addEventListener('abort', abort, { once: true });
    runner.onMessage((message) => {
      if (message.type !== 'event') outcome = message;
      else {
        if (message.event.type === 'device') device = message.event.device;
        onEvent(message.event);
      }
    });
    runner.onExit(
      async ({ reason = 'it exited without a result', wasStopped = false, hasCrashed = false }) => {
        signal.removeEventListener('abort', abort);
        if (outcome?.type === 'done') return resolve(outcome.stats);
        if (outcome?.type === 'failed') return reject(reviveError(outcome.error));
        if (wasStopped && (await firesWithin(signal, STOPPED_TOGETHER_MS))) {
          return reject(new AbortedError(`the training of job ${spec.id}`));
        }
        if (hasCrashed && device !== 'cpu') return reject(new DeviceError(device, 'run', reason));
        reject(new TrainingError(`the training of job ${spec.id} broke off: ${reason}`));
      },
    );
    runner.send({ type: 'run', spec });
    if (signal.aborted) abort();
  });
}

async function firesWithin(signal: AbortSignal, ms: number): Promise<boolean> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
  return signal.aborted;
}

/** The largest heap of a runner in MiB; undefined leaves it to Node.js. Numbers of the runtime lie beside it. */
export function heapLimit({ memoryLimit }: TrainingSpec): number | undefined {
  return memoryLimit === undefined ? undefined : Math.max(SMALLEST_HEAP, Math.floor(memoryLimit / 1024 ** 2));
}

/** In MiB: less would not even load what trains. */
const SMALLEST_HEAP = 64;

/**
 * The built entry point of the runner, which lies beside every built file of this package.
 * @throws InstallationError in a bundle without it.
 */
export function runnerUrl(): URL {
  const beside = () => new URL(/* webpackIgnore: true */ './training-runner.js', import.meta.url);
  return ownFile('training-runner.js', beside);
}

/** A host that trains with `train`, and when it is closed waits for the runs in progress. */
export function trackingHost(train: TrainingHost['run']): TrainingHost {
  const running = new Set<Promise<unknown>>();
  return {
    run(spec, options) {
      const outcome = train(spec, options);
      running.add(outcome);
      const done = () => running.delete(outcome);
      outcome.then(done, done);
      return outcome;
    },
    async close() {
      await Promise.allSettled(running);
    },
  };
}
