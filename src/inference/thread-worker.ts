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
import type { Batch, BatchAnswer, InferenceWorker, Loaded } from './worker.js';

/** What a worker thread starts with. */
export interface WorkerSettings extends WorkerOptions {
  /** Where it counts the calls of ONNX Runtime under way. */
  readonly nativeCalls: Int32Array;
}

/** What a pool sends to one of its worker threads. */
export type PoolMessage =
  | { readonly type: 'run'; readonly ask: number; readonly batch: Batch }
  | { readonly type: 'resume'; readonly ask: number; readonly id: number; readonly alone: boolean }
  | { readonly type: 'cancel'; readonly id: number; readonly positions: readonly number[] }
  | { readonly type: 'load'; readonly ask: number; readonly directory: string }
  | { readonly type: 'forget'; readonly directory: string }
  /** Exit once nothing runs. */
  | { readonly type: 'close' };

/** What a worker thread answers to a message that asks, by its number. */
export type WorkerMessage =
  | { readonly ask: number; readonly answer: BatchAnswer }
  | { readonly ask: number; readonly loaded: Loaded }
  | { readonly ask: number; readonly error: ErrorDescription };

interface Asker {
  readonly resolve: (message: Exclude<WorkerMessage, { error: unknown }>) => void;
  readonly reject: (error: OrchardError) => void;
}

/** Starts an inference worker. */
type OpenWorker = (settings: WorkerSettings) => Worker;

/** @throws InstallationError in a bundle without the worker's file. */
const openWorker: OpenWorker = (workerData) => {
  const beside = () => new URL(/* webpackIgnore: true */ './inference-worker.js', import.meta.url);
  return startThread(ownFile('inference-worker.js', beside), { workerData });
};

/** How long closing waits for a thread to leave by itself. */
const CLOSE_MS = 3000;

/**
 * A worker thread that runs models; it is started on first use, and after its end on next use: a thread that dies fails
 * what it was asked, and nothing else. While it has nothing to do, it doesn't keep the process alive.
 */
export class ThreadWorker implements InferenceWorker {
  onLost?: () => void;
  readonly #unanswered = new Map<number, Asker>();
  /** The calls of ONNX Runtime under way in the thread: while there are any, it mustn't be ended from outside. */
  #nativeCalls = new Int32Array(new SharedArrayBuffer(4));
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
    this.#tell({ type: 'cancel', id, positions });
  }

  async load(directory: string): Promise<Loaded> {
    const message = await this.#ask((ask) => ({ type: 'load', ask, directory }));
    return 'loaded' in message ? message.loaded : { ms: 0, bytes: 0 };
  }

  forget(directory: string): void {
    this.#tell({ type: 'forget', directory });
  }

  abandon(reason: string): void {
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#tell({ type: 'close' });
    this.#lose(worker, new InternalError(reason));
    this.#leave(worker);
  }

  rest(): void {
    const worker = this.#worker;
    if (worker === undefined || this.#unanswered.size > 0) return;
    this.#tell({ type: 'close' });
    this.#lose(worker, new InternalError('the inference worker has ended'));
    worker.unref();
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    let timer: NodeJS.Timeout | undefined;
    const left = new Promise<void>((resolve) => {
      worker.once('exit', () => resolve());
      timer = setTimeout(() => {
        this.#leave(worker);
        resolve();
      }, CLOSE_MS);
    });
    this.#tell({ type: 'close' });
    await left;
    clearTimeout(timer);
  }

  /** Starts the thread ahead of its first work. What keeps it from starting, the first work is told. */
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

  #tell(message: PoolMessage): void {
    this.#worker?.postMessage(message);
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    this.#nativeCalls = new Int32Array(new SharedArrayBuffer(4));
    const worker = this.#open({ ...this.#options, nativeCalls: this.#nativeCalls });
    worker.on('message', (message: WorkerMessage) => this.#answer(message));
    worker.on('error', (cause) =>
      this.#lose(worker, new InternalError(`the inference worker failed: ${cause}`, { cause })),
    );
    worker.on('exit', () => this.#lose(worker, new InternalError('the inference worker exited')));
    this.#worker = worker;
    return worker;
  }

  #answer(message: WorkerMessage): void {
    const asker = this.#unanswered.get(message.ask);
    this.#unanswered.delete(message.ask);
    if (this.#unanswered.size === 0) this.#worker?.unref();
    if ('error' in message) asker?.reject(reviveError(message.error));
    else asker?.resolve(message);
  }

  /** The thread has ended, or is given up. Its last events come when another one may be at work already. */
  #lose(worker: Worker, error: InternalError): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.onLost?.();
    for (const { reject } of this.#unanswered.values()) reject(error);
    this.#unanswered.clear();
  }

  /** Leaves a thread that doesn't end to itself; where it is not within ONNX Runtime, it can be ended. */
  #leave(worker: Worker): void {
    worker.unref();
    if (Atomics.load(this.#nativeCalls, 0) === 0) void worker.terminate();
  }
}
