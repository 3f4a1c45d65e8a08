import type { JobQueue } from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import {
  type ErasedAccount,
  eraseAccount,
  listUnusedModels,
  removeUnusedModels,
  type Trainer,
  type UnusedModel,
  type UnusedOptions,
} from '../trainer/index.js';
import { outcomeOf } from './services.js';

/** What erasing an account has removed, the datasets that it uploaded included. */
export interface ErasedData extends ErasedAccount {
  /** How many zips, wherever they were. */
  readonly uploads: number;
}

/** What whoever runs the service does for all accounts. */
export interface OperatorServices {
  /** Removes all that there is of an account. Rejects with a ValidationError or a StorageError. */
  eraseAccount(app_id: string): Promise<ErasedData>;
  listUnusedModels(options: UnusedOptions): Promise<readonly UnusedModel[]>;
  removeUnusedModels(options: UnusedOptions): Promise<readonly UnusedModel[]>;
}

export interface OperatorServicesOptions {
  readonly storage: Storage;
  /** A trainer of the account that there is already: what it runs stops at once. Default: none. */
  readonly trainerOf?: (app_id: string) => Pick<Trainer, 'eraseAccount'> | undefined;
  readonly queue?: JobQueue | undefined;
  /** Removes the account's uploads. @returns how many. */
  readonly eraseUploads: (app_id: string) => Promise<number>;
  /** Removes what is counted of the account outside the storage. Default: nothing is. */
  readonly forget?: ((app_id: string) => Promise<void>) | undefined;
}

export function operatorServices({
  storage,
  trainerOf,
  queue,
  eraseUploads,
  forget = async () => undefined,
}: OperatorServicesOptions): OperatorServices {
  return {
    async eraseAccount(app_id) {
      const trainer = trainerOf?.(app_id);
      const erasing =
        trainer?.eraseAccount(app_id) ?? eraseAccount({ storage, app_id, ...(queue && { queue }) });
      const erased = await outcomeOf(erasing);
      await forget(app_id);
      return { ...erased, uploads: erased.uploads + (await eraseUploads(app_id)) }; // last: jobs read them
    },
    listUnusedModels: (options) => outcomeOf(listUnusedModels({ storage, ...options })),
    removeUnusedModels: (options) => outcomeOf(removeUnusedModels({ storage, ...options })),
  };
}
