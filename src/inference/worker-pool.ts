import { Worker } from 'node:worker_threads';
import { ClosedError, InternalError, type OrchardError, reviveError } from '../errors.js';
import type { InferenceService, Predictions } from './inference-service.js';
import type { InferenceOptions } from './inline-service.js';
import type { PoolMessage, WorkerMessage } from './messages.js';
import { shareTexts } from './share-texts.js';

export interface PoolOptions extends InferenceOptions {
  /** Number of worker threads; each loads the models that it is asked for. */
  readonly workers: number;
}

/**
 * Runs models in worker threads, which are started on first use. Several texts are shared among the idle
 * workers; if there are none, a request goes to the least busy one.
 */
export function workerInference({ workers, maxModelBytes, threads }: PoolOptions): InferenceService {
  const options = { maxModelBytes: Math.floor(maxModelBytes / workers), threads };
  const pool = Array.from({ length: workers }, () => new PoolWorker(options));
  let closed = false;
  return {
    async predict(directory, texts) {
      if (closed) throw new ClosedError('inference pool');
      const idle = pool.filter((each) => each.waiting === 0);
      if (idle.length > 1) return predictTogether(idle, directory, texts);
      const leastBusy = pool.reduce((best, each) => (each.waiting < best.waiting ? each : best));
      return leastBusy.predict(directory, texts);
    },
    forget(directory) {
      for (const worker of pool) worker.forget(directory);
    },
    async close() {
      closed = true;
      await Promise.all(pool.map((worker) => worker.close()));
    },
  };
}

async function predictTogether(
  workers: readonly PoolWorker[],
  directory: string,
  texts: readonly string[],
): Promise<Predictions> {
  const lengths = texts.map((text) => text.length);
  const parts = shareTexts(lengths, workers.length);
  const answers = workers.slice(0, parts.length).map((worker, at) => {
    const part = (parts[at] ?? []).map((position) => texts[position] ?? '');
    return worker.predict(directory, part);
  });
  const predictions = await Promise.all(answers);
  const byPosition = new Map(
    parts.flatMap((part, at) => part.map((position, row) => [position, predictions[at]?.results[row]])),
  );
  return {
    results: texts.flatMap((_, position) => byPosition.get(position) ?? []),
    elapsedMs: Math.max(0, ...predictions.map(({ elapsedMs }) => elapsedMs)),
  };
}

interface Asker {
  readonly resolve: (predictions: Predictions) => void;
  readonly reject: (error: OrchardError) => void;
}

/**
 * One worker thread and the requests that it has not answered. A thread that crashes is replaced on next use.
 */
class PoolWorker {
  readonly #unanswered = new Map<number, Asker>();
  #worker: Worker | undefined;
  #lastId = 0;

  readonly #options: InferenceOptions;

  constructor(options: InferenceOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#unanswered.size;
  }

  predict(directory: string, texts: readonly string[]): Promise<Predictions> {
    const worker = this.#started();
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#unanswered.set(id, { resolve, reject });
      // An idle worker does not keep the process alive; one with work does.
      worker.ref();
      post(worker, { type: 'predict', id, directory, texts });
    });
  }

  forget(directory: string): void {
    if (this.#worker !== undefined) post(this.#worker, { type: 'forget', directory });
  }

  /** The thread exits by itself: terminating it while ONNX Runtime works would crash the process. */
  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    worker.ref();
    const left = new Promise((resolve) => worker.once('exit', resolve));
    post(worker, { type: 'close' });
    await left;
  }

  #started(): Worker {
    if (this.#worker !== undefined) return this.#worker;
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
    const asker = this.#unanswered.get(message.id);
    this.#unanswered.delete(message.id);
    if (this.#unanswered.size === 0) this.#worker?.unref();
    if ('error' in message) asker?.reject(reviveError(message.error));
    else asker?.resolve(message.predictions);
  }

  #broken(error: InternalError): void {
    this.#worker = undefined;
    for (const { reject } of this.#unanswered.values()) reject(error);
    this.#unanswered.clear();
  }
}

function post(worker: Worker, message: PoolMessage): void {
  worker.postMessage(message);
}
