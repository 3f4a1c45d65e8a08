import { clearTimeout, setTimeout } from 'node:timers';
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

/** A worker thread's answer to the message with the same `ask` number. */
export type WorkerMessage =
  | { readonly ask: number; readonly answer: BatchAnswer }
  | { readonly ask: number; readonly loaded: Loaded }
  | { readonly ask: number; readonly error: ErrorDescription };

interface PendingAsk {
  readonly resolve: (message: Exclude<WorkerMessage, { error: unknown }>) => void;
  readonly reject: (error: OrchardError) => void;
}

type OpenWorker = (settings: WorkerSettings) => Worker;

/** @throws InstallationError in a bundle without the worker's file. */
const openWorker: OpenWorker = (workerData) => {
  const fileUrl = () => new URL(/* webpackIgnore: true */ './inference-worker.js', import.meta.url);
  return startThread(ownFile('inference-worker.js', fileUrl), { workerData });
};

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

/** Starts on first use and after its end: a thread that dies fails its open requests and nothing else. */
export class ThreadWorker implements InferenceWorker {
  onLost?: () => void;
  readonly #unanswered = new Map<number, PendingAsk>();
  #nativeCalls = new NativeCalls();
  #worker: Worker | undefined;
  #lastAsk = 0;
  readonly #options: WorkerOptions;
  readonly #open: OpenWorker;

  constructor(options: WorkerOptions, open = openWorker) {
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
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#send({ type: 'close' });
    this.#lose(worker, new InternalError(reason));
    this.#terminate(worker);
  }

  rest(): void {
    const worker = this.#worker;
    if (worker === undefined || this.#unanswered.size > 0) return;
    this.#send({ type: 'close' });
    this.#lose(worker, new InternalError('the inference worker has ended'));
    worker.unref();
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    let timer: NodeJS.Timeout | undefined;
    const ended = new Promise<void>((resolve) => {
      worker.once('exit', () => resolve());
      timer = setTimeout(() => {
        this.#terminate(worker);
        resolve();
      }, CLOSE_MS);
    });
    this.#send({ type: 'close' });
    await ended;
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
    const worker = this.#started();
    this.#lastAsk += 1;
    const ask = this.#lastAsk;
    return new Promise((resolve, reject) => {
      this.#unanswered.set(ask, { resolve, reject });
      worker.ref();
      worker.postMessage(messageOf(ask));
    });
  }

  #send(message: PoolMessage): void {
    this.#worker?.postMessage(message);
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    this.#nativeCalls = new NativeCalls();
    const worker = this.#open({ ...this.#options, nativeCalls: this.#nativeCalls.shared });
    worker.on('message', (message: WorkerMessage) => this.#answer(message));
    worker.on('error', (cause) =>
      this.#lose(worker, new InternalError(`the inference worker failed: ${cause}`, { cause })),
    );
    worker.on('exit', () => this.#lose(worker, new InternalError('the inference worker exited')));
    this.#worker = worker;
    outlive(worker, this.#nativeCalls);
    return worker;
  }

  #answer(message: WorkerMessage): void {
    const pending = this.#unanswered.get(message.ask);
    this.#unanswered.delete(message.ask);
    if (this.#unanswered.size === 0) this.#worker?.unref();
    if ('error' in message) pending?.reject(reviveError(message.error));
    else pending?.resolve(message);
  }

  /** The thread has ended or is abandoned. Its last events can arrive when its successor already runs. */
  #lose(worker: Worker, error: InternalError): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.onLost?.();
    for (const { reject } of this.#unanswered.values()) reject(error);
    this.#unanswered.clear();
  }

  /** Terminates a thread, unless it is within ONNX Runtime. */
  #terminate(worker: Worker): void {
    worker.unref();
    if (this.#nativeCalls.running === 0) void worker.terminate();
  }
}
