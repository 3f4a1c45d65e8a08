import { fork } from 'node:child_process';
import { clearTimeout, setTimeout } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AbortedError, DeviceError, reviveError, TrainingError, type TrainingStats } from '../contract/index.js';
import type { GraphExecutor } from '../graph/index.js';
import { ownFile, STOP_SIGNALS, startThread } from '../system/index.js';
import { endEarlierRunner, type HostMessage, type RunnerMessage } from './runner-messages.js';
import { GOES_ON_LATER, type TrainingHost, type TrainingRunOptions, type TrainingSpec } from './training-run.js';

interface Runner {
  send(message: HostMessage): void;
  onMessage(listener: (message: RunnerMessage) => void): void;
  readonly exited: Promise<RunnerExit>;
  /** Ends it from outside, or leaves it to itself where that would end the caller too. */
  kill(): void;
  discard(): void;
}

interface RunnerExit {
  readonly reason?: string;
  /** Whether it was asked to stop, as by a supervisor that stops a whole group of processes. */
  readonly wasStopped?: boolean;
  /** Whether it broke down as a whole, which the driver of a device may have brought about. */
  readonly hasCrashed?: boolean;
}

/** Its process died while the host lived: for lack of memory, of a crash, or by someone's signal. */
export class RunnerDeathError extends TrainingError {}

/** A run that was asked to stop and has not by then hangs: before the job is cancelled, and before the host closes. */
const CANCEL_MS = 8000;
const CLOSE_MS = 4000;

/**
 * How long the host waits to be stopped itself once its runner was: a supervisor that stops both may reach the runner first.
 */
const STOPPED_TOGETHER_MS = 2000;

/**
 * Trains each run in a runner of its own. A runner is asked to stop and exits on its own: terminating a thread
 * while ONNX Runtime works would crash the whole process.
 */
function runnerHost(start: (memoryLimit: number | undefined) => Runner, first?: FirstRun): TrainingHost {
  let ready = first && start(first.memoryLimit);
  const host = trackingHost(async (spec, options) => {
    const runner = ready ?? start(spec.memoryLimit);
    ready = undefined;
    return runIn(runner, spec, options);
  });
  return {
    run: host.run,
    async close() {
      ready?.discard();
      ready = undefined;
      await host.close();
    },
  };
}

function runIn(runner: Runner, spec: TrainingSpec, { signal, onEvent }: TrainingRunOptions): Promise<TrainingStats> {
  return new Promise((resolve, reject) => {
    let outcome: Exclude<RunnerMessage, { readonly type: 'event' }> | undefined;
    let { device = 'cpu' } = spec;
    let hanging: NodeJS.Timeout | undefined;
    const abort = () => {
      runner.send({ type: 'abort', reason: signal.reason });
      hanging = setTimeout(() => runner.kill(), signal.reason === GOES_ON_LATER ? CLOSE_MS : CANCEL_MS);
    };
    signal.addEventListener('abort', abort, { once: true });
    runner.onMessage((message) => {
      if (message.type !== 'event') outcome = message;
      else {
        if (message.event.type === 'device') device = message.event.device;
        onEvent(message.event);
      }
    });
    void runner.exited.then(async ({ reason = 'it exited without a result', wasStopped, hasCrashed }) => {
      signal.removeEventListener('abort', abort);
      clearTimeout(hanging);
      if (outcome?.type === 'done') return resolve(outcome.stats);
      if (outcome?.type === 'failed') return reject(reviveError(outcome.error));
      if (signal.aborted || (wasStopped && (await firesWithin(signal, STOPPED_TOGETHER_MS)))) {
        return reject(new AbortedError(`the training of job ${spec.id}`));
      }
      if (hasCrashed && device !== 'cpu') return reject(new DeviceError(device, 'run', reason));
      const message = `the training of job ${spec.id} failed: ${reason}`;
      reject(hasCrashed ? new RunnerDeathError(message) : new TrainingError(message));
    });
    runner.send({ type: 'run', spec });
    if (signal.aborted) abort();
  });
}

async function firesWithin(signal: AbortSignal, ms: number): Promise<boolean> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
  return signal.aborted;
}

/** The largest heap of a runner in MiB; undefined leaves it to Node.js. Numbers of the runtime lie outside of it. */
function heapLimit(memoryLimit: number | undefined): number | undefined {
  return memoryLimit === undefined ? undefined : Math.max(SMALLEST_HEAP, Math.floor(memoryLimit / 1024 ** 2));
}

const SMALLEST_HEAP = 64; // in MiB: less would not even load what trains

/**
 * The built entry point of the runner, which is in the folder of every built file of this package.
 * @throws InstallationError in a bundle without it.
 */
function runnerUrl(): URL {
  const sibling = () => new URL(/* webpackIgnore: true */ './training-runner.js', import.meta.url);
  return ownFile('training-runner.js', sibling);
}

/** A host that trains with `train`, and when it is closed waits for the runs in progress. */
function trackingHost(train: TrainingHost['run']): TrainingHost {
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

/**
 * Trains in a child process: neither a crash of the runtime nor the system's out-of-memory killer can end the
 * caller's. A signal to the group of both processes, as Ctrl-C or systemd sends it, is left to the caller's to follow.
 */
function startChild(memoryLimit: number | undefined): Runner {
  const heap = heapLimit(memoryLimit);
  const execArgv = heap === undefined ? [] : [`--max-old-space-size=${heap}`];
  const child = fork(fileURLToPath(runnerUrl()), { serialization: 'advanced', execArgv });
  return {
    send(message) {
      if (child.connected) child.send(message);
    },
    onMessage: (listener) => child.on('message', listener),
    exited: new Promise((resolve) => {
      // Without a start there is no 'exit'. It also fires for a message to a process that has just ended.
      child.on('error', ({ message }) => {
        if (child.pid === undefined) resolve({ reason: `its process can't be started: ${message}` });
      });
      child.once('exit', (code, signal) => {
        if (code === 0) return resolve({});
        const reason = `its process ended with ${signal ?? `exit code ${code}`}`;
        // The child ignores these signals, but for the moment in which it starts.
        const wasStopped = signal !== null && STOP_SIGNALS.includes(signal);
        resolve({ reason, wasStopped, hasCrashed: !wasStopped });
      });
    }),
    // It ignores SIGTERM, which a supervisor sends to its whole group.
    kill: () => void child.kill('SIGKILL'),
    discard() {
      if (child.connected) child.disconnect();
    },
  };
}

/**
 * Trains in a worker thread: the caller's event loop stays free. Where a run fills its heap, it alone ends.
 * @param entry of the worker. Default: the runner's.
 */
export function workerHost(entry?: URL, first?: FirstRun): TrainingHost {
  return runnerHost((memoryLimit) => startWorker(entry ?? runnerUrl(), memoryLimit), first);
}

function startWorker(entry: URL, memoryLimit: number | undefined): Runner {
  const heap = heapLimit(memoryLimit);
  const worker = startThread(entry, { ...(heap && { resourceLimits: { maxOldGenerationSizeMb: heap } }) });
  let reason: string | undefined;
  let leave: (exit: RunnerExit) => void = () => undefined;
  worker.on('error', (error) => {
    reason = error.message;
  });
  return {
    send: (message) => worker.postMessage(message),
    onMessage: (listener) => worker.on('message', listener),
    exited: new Promise((resolve) => {
      leave = resolve;
      worker.once('exit', () => resolve({ ...(reason !== undefined && { reason }) }));
    }),
    kill() {
      worker.unref();
      leave({ reason: 'its thread did not stop' });
    },
    discard: () => void worker.terminate(), // it has not loaded ONNX Runtime yet
  };
}

/**
 * Where training runs: in a worker thread, in a child process, or in the caller's thread, which each step then blocks.
 */
export type TrainingIsolation = 'worker' | 'process' | 'inline';

interface FirstRun {
  readonly memoryLimit?: number | undefined;
}

interface HostOptions {
  /** Used by `inline` alone, since it can't be sent to a thread or process. Default: ONNX Runtime. */
  readonly executor?: GraphExecutor | undefined;
  /** Starts the runner of the first run at once: it loads while the caller reads the rows. Default: with the run. */
  readonly first?: FirstRun;
}

export function createTrainingHost(isolation: TrainingIsolation, { executor, first }: HostOptions = {}): TrainingHost {
  if (isolation === 'worker') return workerHost(undefined, first);
  if (isolation === 'process') return runnerHost(startChild, first);
  return trackingHost(async (spec, options) => {
    const { runTraining } = await import('./run-training.js');
    await endEarlierRunner(spec.directory);
    return runTraining(spec, options, executor);
  });
}
