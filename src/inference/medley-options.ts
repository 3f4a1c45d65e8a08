import type { Account } from '../contract/index.js';
import type { ModelLoader } from '../models/index.js';
import { type RunOptions, runSchema } from './service-options.js';

/** Which models a medley asks, and how it runs them. */
export interface MedleyOptions extends RunOptions {
  /** Where the models come from. Default: `catalogueModels()`. */
  readonly modelLoader?: ModelLoader;
  /** Who asks. Default: the local account, of tier pro, which a medley needs. */
  readonly account?: Account;
}

export const medleySchema = runSchema;
