import * as z from 'zod';
import { validate } from '../contract/index.js';
import type { InferenceService } from './inference-service.js';
import { inlineInference } from './inline-service.js';
import { workerInference } from './worker-pool.js';

/** How models are run. */
export interface ServiceOptions {
  /** `worker` (default): worker threads. `inline`: the calling thread, which each run then blocks. */
  readonly isolation?: 'worker' | 'inline';
  /**
   * Worker threads; each loads the models that it is asked for, and idle ones share the texts of a batch. Default 1,
   * and 2 in a Medley.
   */
  readonly workers?: number;
  /** Threads that one run may use. Default 1, the fastest for short texts on small models. */
  readonly threads?: number;
  /** Bound on the loaded models' graph files together, in bytes. Default 1 GiB. */
  readonly maxModelBytes?: number;
}

/** How a predictor or medley runs models. */
export interface RunOptions extends ServiceOptions {
  /**
   * Runs the models, in place of a service of its own by the other options. Several predictors and medleys may share one,
   * and so the models that it has loaded. Stays open on close.
   */
  readonly inference?: InferenceService;
}

const settingsSchema = z.strictObject({
  isolation: z.enum(['worker', 'inline']).default('worker'),
  workers: z.int().min(1).default(1),
  threads: z.int().min(1).default(1),
  maxModelBytes: z
    .int()
    .min(1)
    .default(2 ** 30),
});

/** A service that runs models as these options say, for several predictors and medleys. @throws ValidationError */
export function inferenceService(options: ServiceOptions = {}): InferenceService {
  const settings = validate(settingsSchema, options);
  if (settings.isErr()) throw settings.error;
  const { isolation, ...pool } = settings.value;
  return isolation === 'inline' ? inlineInference(pool) : workerInference(pool);
}

/** The service that was given, which closing leaves open, or one of these options. @throws ValidationError */
export function serviceOf({ inference, ...options }: RunOptions): InferenceService {
  if (inference === undefined) return inferenceService(options);
  return {
    predict: (directory, texts) => inference.predict(directory, texts),
    forget: (directory) => inference.forget(directory),
    close: async () => undefined,
  };
}
