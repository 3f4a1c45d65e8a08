import { type Account, implementation } from '../contract/index.js';
import type { ModelLoader } from '../models/index.js';
import type { Storage } from '../storage/index.js';
import { type RunOptions, runSchema } from './service-options.js';

/** Whose models a predictor asks, and how it runs them. */
export interface PredictorOptions extends RunOptions {
  /** Where the custom models are: the storage of the Trainer that made them. Stays open on close. */
  readonly storage: Storage;
  /** Where the pretrained models come from. Default: `catalogueModels()`. */
  readonly modelLoader?: ModelLoader;
  /** Who asks, and whose custom models these are. Default: the local account, of tier pro. */
  readonly account?: Account;
}

export const predictorSchema = runSchema.extend({
  storage: implementation<Storage>(
    ['read', 'openFolder'],
    "pass the storage of the Trainer that made the models, such as fileStorage('./models'); for pretrained models alone memoryStorage() will do",
  ),
});
