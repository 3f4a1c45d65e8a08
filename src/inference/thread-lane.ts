import { Worker } from 'node:worker_threads';
import { reviveError } from '../error-description.js';
import { InternalError, type OrchardError } from '../errors.js';
import { turnTelemetryOffForThreads } from '../runtime-telemetry.js';
import type { LaneOptions } from './inline-lane.js';
import type { Batch, BatchAnswer, Lane } from './lane.js';
import type { PoolMessage, WorkerMessage } from './messages.js';

interface Asker {
  readonly resolve: (message: Exclude<WorkerMessage, { error: unknown }>) => void;
  readonly reject: (error: OrchardError) => void;
}

/**
 * A worker thread that runs models; it is started on first use, and after a crash on next use. While it has nothing
 * to do, it doesn't keep the process alive.
 */
export class ThreadLane implements Lane {
  readonly #unanswered = new Map<number, Asker>();
  #worker: Worker | undefined;
  #lastAsk = 0;

  readonly #options: LaneOptions;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  async run(batch: Batch): Promise<BatchAnswer> {
    const message = await this.#ask((ask) => ({ type: 'run', ask, batch }));
    if ('answer' in message) return message.answer;
    throw new InternalError('the inference worker gave no answer');
  }

  cancel(id: number, positions: readonly number[]): void {
    this.#tell({ type: 'cancel', id, positions });
  }

  async load(directory: string): Promise<number> {
    const message = await this.#ask((ask) => ({ type: 'load', ask, directory }));
    return 'loadMs' in message ? message.loadMs : 0;
  }

  forget(directory: string): void {
    this.#tell({ type: 'forget', directory });
  }

  /** The thread exits by itself: terminating it while ONNX Runtime works would crash the process. */
  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    const left = new Promise((resolve) => worker.once('exit', resolve));
    this.#tell({ type: 'close' });
    await left;
  }

  /** Starts the thread ahead of its first work. */
  start(): void {
    this.#started().unref();
  }

  #ask(messageOf: (ask: number) => PoolMessage): Promise<Exclude<WorkerMessage, { error: unknown }>> {
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
    turnTelemetryOffForThreads();
    const worker = new Worker(new URL('./inference-worker.js', import.meta.url), {
      workerData: this.#options,
    });
    worker.on('message', (message: WorkerMessage) => this.#answer(message));
    worker.on('error', (cause) => this.#broken(new InternalError('the inference worker failed', { cause })));
    worker.on('exit', () => this.#broken(new InternalError('the inference worker exited')));
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

  #broken(error: InternalError): void {
    this.#worker = undefined;
    for (const { reject } of this.#unanswered.values()) reject(error);
    this.#unanswered.clear();
  }
}
