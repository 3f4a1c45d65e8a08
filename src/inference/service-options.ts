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
   * Number of worker threads. Each loads the models that it is asked for; idle ones share the texts of a
   * batch. Default 1, in a Medley 2.
   */
  readonly workers?: number;
  /** Threads that one run may use. Default 1, the fastest for short texts on small models. */
  readonly threads?: number;
  /** Bound on the loaded models' files together, in bytes. Default 1 GiB. */
  readonly maxModelBytes?: number;
}

/** How a predictor or medley runs models. */
export interface RunOptions extends ServiceOptions {
  /**
   * A service to run the models in, instead of one made from the other options. Several predictors and
   * medleys can share a service, and with it the models that it has loaded. It stays open when they are
   * closed.
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

/** Options of predictors and medleys alike. */
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

/** A service with these options, for several predictors and medleys. @throws ValidationError */
export function inferenceService(options: ServiceOptions = {}): InferenceService {
  return createService(validate(serviceSchema, options));
}

/** Creates the service that these settings describe. */
export function createService({ isolation, ...pool }: ServiceSettings): InferenceService {
  return isolation === 'inline' ? inlineInference(pool) : workerInference(pool);
}
