import { Worker } from 'node:worker_threads';
import { err, errAsync, ok, type Result, ResultAsync } from 'neverthrow';
import { ClosedError, InternalError, type OrchardError, reviveError } from '../errors.js';
import type { InferenceService, Predictions } from './inference-service.js';
import type { InferenceOptions } from './inline-service.js';
import type { PoolMessage, WorkerMessage } from './messages.js';
import { shareTexts } from './share-texts.js';

export interface PoolOptions extends InferenceOptions {
  /** Worker threads; each loads the models that it is asked for. */
  readonly workers: number;
}

/**
 * Runs models in worker threads, started on first use. Several texts are shared out among the workers that have nothing
 * to do; where none has, a request goes to the one with the least to do.
 */
export function workerInference({ workers, maxModelBytes, threads }: PoolOptions): InferenceService {
  const options = { maxModelBytes: Math.floor(maxModelBytes / workers), threads };
  const pool = Array.from({ length: workers }, () => new PoolWorker(options));
  let closed = false;
  return {
    predict(directory, texts) {
      if (closed) return errAsync(new ClosedError('inference pool'));
      const leastBusy = pool.reduce((best, each) => (each.waiting < best.waiting ? each : best));
      const idle = pool.filter((each) => each.waiting === 0);
      if (idle.length < 2) return new ResultAsync(leastBusy.predict(directory, texts));
      return predictTogether(idle, directory, texts);
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

function predictTogether(
  workers: readonly PoolWorker[],
  directory: string,
  texts: readonly string[],
): ResultAsync<Predictions, OrchardError> {
  const lengths = texts.map((text) => text.length);
  const parts = shareTexts(lengths, workers.length);
  const answers = workers.slice(0, parts.length).map((worker, at) => {
    const part = (parts[at] ?? []).map((position) => texts[position] ?? '');
    return new ResultAsync(worker.predict(directory, part));
  });
  return ResultAsync.combine(answers).map((predictions) => {
    const byPosition = new Map(
      parts.flatMap((part, at) => part.map((position, row) => [position, predictions[at]?.results[row]])),
    );
    return {
      results: texts.flatMap((_, position) => byPosition.get(position) ?? []),
      elapsedMs: Math.max(0, ...predictions.map(({ elapsedMs }) => elapsedMs)),
    };
  });
}

type Answer = (outcome: Result<Predictions, OrchardError>) => void;

/** One worker thread and the requests that it has not answered. A thread that breaks is replaced on next use. */
class PoolWorker {
  readonly #unanswered = new Map<number, Answer>();
  #worker: Worker | undefined;
  #lastId = 0;

  constructor(private readonly options: InferenceOptions) {}

  get waiting(): number {
    return this.#unanswered.size;
  }

  predict(directory: string, texts: readonly string[]): Promise<Result<Predictions, OrchardError>> {
    const worker = this.#started();
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((answer) => {
      this.#unanswered.set(id, answer);
      // An idle worker does not keep the process alive, one with work does.
      worker.ref();
      post(worker, { type: 'predict', id, directory, texts });
    });
  }

  forget(directory: string): void {
    if (this.#worker !== undefined) post(this.#worker, { type: 'forget', directory });
  }

  /** The thread leaves by itself: ending it while ONNX Runtime works would end the process. */
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
      workerData: this.options,
    });
    worker.on('message', (message: WorkerMessage) => this.#answer(message));
    worker.on('error', (cause) => this.#broken(new InternalError('the inference worker failed', { cause })));
    worker.on('exit', () => this.#broken(new InternalError('the inference worker left')));
    this.#worker = worker;
    return worker;
  }

  #answer(message: WorkerMessage): void {
    const answer = this.#unanswered.get(message.id);
    this.#unanswered.delete(message.id);
    if (this.#unanswered.size === 0) this.#worker?.unref();
    answer?.('error' in message ? err(reviveError(message.error)) : ok(message.predictions));
  }

  #broken(error: InternalError): void {
    this.#worker = undefined;
    for (const answer of this.#unanswered.values()) answer(err(error));
    this.#unanswered.clear();
  }
}

function post(worker: Worker, message: PoolMessage): void {
  worker.postMessage(message);
}
