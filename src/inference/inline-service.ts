import { errAsync, ResultAsync } from 'neverthrow';
import { ClosedError } from '../errors.js';
import type { InferenceService } from './inference-service.js';
import { ModelCache } from './model-cache.js';
import { RequestQueue } from './request-queue.js';

export interface InferenceOptions {
  /** Bound on the loaded models' graph files together, in bytes. */
  readonly maxModelBytes: number;
  /** Threads that one run may use. */
  readonly threads: number;
}

/** Runs models in the calling thread, which each run blocks. */
export function inlineInference({ maxModelBytes, threads }: InferenceOptions): InferenceService {
  const models = new ModelCache(maxModelBytes, threads);
  const queue = new RequestQueue(models);
  let closed = false;
  return {
    predict: (directory, texts) =>
      closed ? errAsync(new ClosedError('inference service')) : new ResultAsync(queue.add(directory, texts)),
    forget: (directory) => models.forget(directory),
    async close() {
      closed = true;
      await queue.idle();
      await models.clear();
    },
  };
}
