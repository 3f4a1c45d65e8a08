import * as z from 'zod';
import { accountSchema, LOCAL_ACCOUNT, validate } from '../contract/index.js';
import { catalogueModels, type ModelLoader } from '../model-loader/index.js';
import { implementation } from './implementation.js';
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

const serviceSchema = z.strictObject({
  isolation: z.enum(['worker', 'inline']).default('worker'),
  workers: z.int().min(1).default(1),
  threads: z.int().min(1).default(1),
  maxModelBytes: z
    .int()
    .min(1)
    .default(2 ** 30),
});
type ServiceSettings = z.infer<typeof serviceSchema>;

/** What a predictor and a medley can both be told. */
export const runSchema = serviceSchema.extend({
  inference: implementation<InferenceService>(
    ['predict', 'forget', 'close'],
    'pass an inference service, such as inferenceService()',
  ).optional(),
  modelLoader: implementation<ModelLoader>(
    ['load'],
    "pass a model loader, such as catalogueModels() or folderModels('./models')",
  ).default(() => catalogueModels()),
  account: accountSchema.default(LOCAL_ACCOUNT),
});

/** A service that runs models as these options say, for several predictors and medleys. @throws ValidationError */
export function inferenceService(options: ServiceOptions = {}): InferenceService {
  return createService(validate(serviceSchema, options));
}

/** The service of these settings. */
export function createService({ isolation, ...pool }: ServiceSettings): InferenceService {
  return isolation === 'inline' ? inlineInference(pool) : workerInference(pool);
}
