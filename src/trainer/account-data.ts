import { ValidationError } from '../errors.js';
import { type JobQueue, type JobRepository, ModelUses } from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import { AccountErasure, type ErasedAccount } from './account-erasure.js';
import type { Clock } from './clock.js';
import type { BesideJob, JobControl } from './job-control.js';
import {
  removeUnused,
  type UnusedModel,
  type UnusedOptions,
  unusedModels,
  unusedSettings,
} from './unused-models.js';

export interface AccountDataOptions {
  readonly storage: Storage;
  readonly app_id: string;
  readonly queue: JobQueue;
  readonly jobs: JobRepository;
  readonly control: JobControl;
  readonly clock: Clock;
}

/** What an account has in its storage, and how it goes: a model, the models that nobody uses, everything. */
export class AccountData {
  readonly #options: AccountDataOptions;
  readonly #uses: ModelUses;

  constructor(options: AccountDataOptions) {
    const { storage, app_id, clock } = options;
    this.#options = options;
    this.#uses = new ModelUses(storage, app_id, () => clock.now());
  }

  /** A model that is created now counts as used now. */
  creationOf(id: string): BesideJob {
    const now = this.#options.clock.now();
    return {
      record: this.#uses.firstOf(id, now),
      // Where this fails, it counts from the first look at its uses.
      write: () => this.#uses.track(id, now).catch(() => undefined),
    };
  }

  /** @throws NotFoundError, StorageError */
  async delete(id: string): Promise<void> {
    await this.#options.control.delete(id);
    await this.#uses.forget(id);
  }

  /** @throws ValidationError, StorageError */
  async unused(options: UnusedOptions): Promise<readonly UnusedModel[]> {
    const { days } = unusedSettings(options);
    return unusedModels({ ...this.#options, uses: this.#uses }, days);
  }

  /** @throws ValidationError, StorageError */
  async removeUnused(options: UnusedOptions): Promise<readonly UnusedModel[]> {
    const { days } = unusedSettings(options);
    return removeUnused({ ...this.#options, uses: this.#uses }, days, (id) => this.delete(id));
  }

  /** @throws ValidationError for another account than this, StorageError */
  async erase(app_id: string): Promise<ErasedAccount> {
    if (app_id !== this.#options.app_id) throw notThisAccount(this.#options.app_id);
    return new AccountErasure({ ...this.#options, deleteJob: (id) => this.delete(id) }).run();
  }
}

function notThisAccount(own: string): ValidationError {
  const msg = `this trainer erases no other account than its own, ${JSON.stringify(own)}; an operator erases any with eraseAccount({ storage, app_id })`;
  return new ValidationError([{ loc: ['app_id'], msg, type: 'app_id' }]);
}
