import { type ChildProcess, fork } from 'node:child_process';
import { clearTimeout, setTimeout } from 'node:timers';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import {
  type ErrorDescription,
  InstallationError,
  InternalError,
  type OrchardError,
  reviveError,
} from '../contract/index.js';
import { ownFile, startThread } from '../system/index.js';
import type { WorkerOptions } from './inline-worker.js';
import { NativeCalls } from './native-calls.js';
import type { Batch, BatchAnswer, InferenceWorker, Loaded } from './worker.js';

export interface WorkerSettings extends WorkerOptions {
  readonly nativeCalls: Int32Array;
}

export type PoolMessage =
  | { readonly type: 'run'; readonly ask: number; readonly batch: Batch }
  | { readonly type: 'resume'; readonly ask: number; readonly id: number; readonly alone: boolean }
  | { readonly type: 'cancel'; readonly id: number; readonly positions: readonly number[] }
  | {
      readonly type: 'load';
      readonly ask: number;
      readonly directory: string;
      readonly version: string | undefined;
    }
  | { readonly type: 'forget'; readonly directory: string }
  /** Exit after the running work. */
  | { readonly type: 'close' };

/** A worker's answer to the message with the same `ask` number. */
export type WorkerMessage =
  | { readonly ask: number; readonly answer: BatchAnswer }
  | { readonly ask: number; readonly loaded: Loaded }
  | { readonly ask: number; readonly error: ErrorDescription };

interface PendingAsk {
  readonly resolve: (message: Exclude<WorkerMessage, { error: unknown }>) => void;
  readonly reject: (error: OrchardError) => void;
}

/** A thread or process that runs inference-worker.ts. */
export interface Place {
  send(message: PoolMessage): void;
  onMessage(listener: (message: WorkerMessage) => void): void;
  /** Why it failed or ended, once it has. */
  readonly ended: Promise<PlaceEnd>;
  /** The application's process stays alive for it. */
  ref(): void;
  unref(): void;
  /** Ends it at once, where that does no harm. */
  kill(): void;
}

interface PlaceEnd {
  readonly reason: string;
  readonly cause?: unknown;
}

type OpenPlace = (options: WorkerOptions) => Place;

/** @throws InstallationError in a bundle without the worker's file. */
function workerFile(): URL {
  return ownFile(
    'inference-worker.js',
    () => new URL(/* webpackIgnore: true */ './inference-worker.js', import.meta.url),
  );
}

const CLOSE_MS = 3000;

/** How long the end of the process waits for a call of ONNX Runtime. */
const LAST_CALL_MS = 1000;
const living = new Set<NativeCalls>();
let isWatching = false;

/** A process that ends while a thread is within ONNX Runtime would abort: its end waits for the call. */
function outlive(worker: Worker, calls: NativeCalls): void {
  living.add(calls);
  worker.once('exit', () => living.delete(calls));
  if (isWatching) return;
  isWatching = true;
  process.once('exit', () => {
    for (const each of living) each.forbid();
    const until = performance.now() + LAST_CALL_MS;
    for (const each of living) each.waitForEnd(until);
  });
}

function openThread(options: WorkerOptions): Place {
  const nativeCalls = new NativeCalls();
  const workerData: WorkerSettings = { ...options, nativeCalls: nativeCalls.shared };
  return inThread(startThread(workerFile(), { workerData }), nativeCalls);
}

export function inThread(worker: Worker, nativeCalls = new NativeCalls()): Place {
  outlive(worker, nativeCalls);
  return {
    send: (message) => worker.postMessage(message),
    onMessage: (listener) => worker.on('message', listener),
    ended: new Promise((resolve) => {
      worker.once('error', (cause) => resolve({ reason: `the inference worker failed: ${cause}`, cause }));
      worker.once('exit', () => resolve({ reason: 'the inference worker exited' }));
    }),
    ref: () => worker.ref(),
    unref: () => worker.unref(),
    kill() {
      // Within ONNX Runtime, that would abort the process.
      if (nativeCalls.running === 0) void worker.terminate();
    },
  };
}

/** A process of its own: nothing that happens in it ends the application, and no end of the application waits for it. */
export function openProcess(options: WorkerOptions): Place {
  const child = fork(fileURLToPath(workerFile()), [JSON.stringify(options)], {
    ...{ serialization: 'advanced', execArgv: [] },
    // It takes nothing of what is piped into the application.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  return {
    send(message) {
      if (child.connected) child.send(message, () => undefined); // whatever fails, `ended` says why
    },
    onMessage: (listener) => child.on('message', listener),
    ended: new Promise((resolve) => {
      child.once('error', (cause) => resolve({ reason: `the inference process failed: ${cause.message}`, cause }));
      child.once('exit', (code, signal) =>
        resolve({ reason: `the inference process ended with ${signal ?? `exit code ${code}`}` }),
      );
    }),
    ref() {
      child.ref();
      if (hasRef(child.channel)) child.channel.ref();
    },
    unref() {
      child.unref();
      if (hasRef(child.channel)) child.channel.unref();
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

/** Bun's channels don't have it: there the process alone counts. */
function hasRef(channel: ChildProcess['channel']): channel is NonNullable<ChildProcess['channel']> {
  return channel !== null && channel !== undefined && 'unref' in channel;
}

/** A worker in another thread or process, started on first use and after its end. One that dies fails its open requests alone. */
export class RemoteWorker implements InferenceWorker {
  onLost?: () => void;
  readonly #unanswered = new Map<number, PendingAsk>();
  #place: Place | undefined;
  #lastAsk = 0;
  readonly #options: WorkerOptions;
  readonly #open: OpenPlace;

  constructor(options: WorkerOptions, open: OpenPlace = openThread) {
    this.#options = options;
    this.#open = open;
  }

  run(batch: Batch): Promise<BatchAnswer> {
    return this.#askForAnswer((ask) => ({ type: 'run', ask, batch }));
  }

  resume(id: number, alone: boolean): Promise<BatchAnswer> {
    return this.#askForAnswer((ask) => ({ type: 'resume', ask, id, alone }));
  }

  cancel(id: number, positions: readonly number[]): void {
    this.#send({ type: 'cancel', id, positions });
  }

  async load(directory: string, version?: string): Promise<Loaded> {
    const message = await this.#ask((ask) => ({ type: 'load', ask, directory, version }));
    return 'loaded' in message ? message.loaded : { ms: 0, bytes: 0 };
  }

  forget(directory: string): void {
    this.#send({ type: 'forget', directory });
  }

  abandon(reason: string): void {
    const place = this.#place;
    if (place === undefined) return;
    place.send({ type: 'close' });
    this.#lose(place, new InternalError(reason));
    place.unref();
    place.kill();
  }

  rest(): void {
    const place = this.#place;
    if (place === undefined || this.#unanswered.size > 0) return;
    place.send({ type: 'close' });
    this.#lose(place, new InternalError('the inference worker has ended'));
    place.unref();
  }

  async close(): Promise<void> {
    const place = this.#place;
    if (place === undefined) return;
    place.ref();
    place.send({ type: 'close' });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        place.unref();
        place.kill();
        resolve();
      }, CLOSE_MS);
    });
    await Promise.race([place.ended, late]);
    clearTimeout(timer);
  }

  start(): void {
    try {
      this.#started().unref();
    } catch (thrown) {
      if (!(thrown instanceof InstallationError)) throw thrown;
    }
  }

  async #askForAnswer(messageOf: (ask: number) => PoolMessage): Promise<BatchAnswer> {
    const message = await this.#ask(messageOf);
    if ('answer' in message) return message.answer;
    throw new InternalError('the inference worker gave no answer');
  }

  async #ask(messageOf: (ask: number) => PoolMessage): Promise<Exclude<WorkerMessage, { error: unknown }>> {
    const place = this.#started();
    this.#lastAsk += 1;
    const ask = this.#lastAsk;
    return new Promise((resolve, reject) => {
      this.#unanswered.set(ask, { resolve, reject });
      place.ref();
      place.send(messageOf(ask));
    });
  }

  #send(message: PoolMessage): void {
    this.#place?.send(message);
  }

  #started(): Place {
    if (this.#place !== undefined) return this.#place;
    const place = this.#open(this.#options);
    place.onMessage((message) => this.#answer(message));
    void place.ended.then(({ reason, ...cause }) => this.#lose(place, new InternalError(reason, cause)));
    this.#place = place;
    return place;
  }

  #answer(message: WorkerMessage): void {
    const pending = this.#unanswered.get(message.ask);
    this.#unanswered.delete(message.ask);
    if (this.#unanswered.size === 0) this.#place?.unref();
    if ('error' in message) pending?.reject(reviveError(message.error));
    else pending?.resolve(message);
  }

  /** The place has ended or is abandoned. Its last events can arrive when its successor already runs. */
  #lose(place: Place, error: InternalError): void {
    if (place !== this.#place) return;
    this.#place = undefined;
    this.onLost?.();
    for (const { reject } of this.#unanswered.values()) reject(error);
    this.#unanswered.clear();
  }
}
