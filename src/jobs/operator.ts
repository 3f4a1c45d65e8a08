import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { AbortedError, accountSchema, type OrchardError, toOrchardError, validate } from '../contract/index.js';
import { taskOf } from '../families/index.js';
import type { ModelLoader } from '../models/index.js';
import { type Storage, withStorageErrors } from '../storage/index.js';
import type { TrainingHost } from '../training/index.js';
import type { ErasedAccount } from './account-erasure.js';
import { accountsWithJobs } from './account-records.js';
import { type CopiedStorage, type CopyStorageOptions, copyStorage as copyAll } from './copy-storage.js';
import type { JobQueue } from './job-queue.js';
import { JobRepository } from './job-repository.js';
import { ModelUses } from './model-uses.js';
import { Trainer } from './trainer.js';
import { internalsOf, type TrainerOptions, withInternals } from './trainer-options.js';
import {
  removeUnused,
  type UnusedContext,
  type UnusedModel,
  type UnusedOptions,
  unusedModels,
  unusedSettings,
} from './unused-models.js';

/** Options of the functions for operators of a service. */
export interface OperatorOptions {
  /** Where the jobs and models of all accounts live. Stays open. */
  readonly storage: Storage;
}

export interface EraseAccountOptions extends OperatorOptions {
  readonly app_id: string;
  /** The queue that the trainers of this storage were given, if they were. Stays open. */
  readonly queue?: JobQueue;
}

const appIdSchema = z.object({ app_id: accountSchema.shape.app_id });

/**
 * Removes everything that a storage has of one account, as its trainer's `eraseAccount` does, also while trainers of the
 * account work on it, in this process or another. They notice within seconds that their jobs are gone. Revoke the
 * account's keys first, or it may create new jobs.
 * Fails with a ValidationError or a StorageError; then call it again.
 */
export function eraseAccount(options: EraseAccountOptions): ResultAsync<ErasedAccount, OrchardError> {
  return called('erasing an account', async () => {
    const { storage, queue } = options;
    const { app_id } = validate(appIdSchema, { app_id: options.app_id });
    const idle: TrainerOptions = {
      ...{ storage, account: { app_id, tier: 'pro' }, host: idleHost, modelLoader: idleLoader },
      ...(queue !== undefined && { queue }),
    };
    const trainer = new Trainer(withInternals(idle, internalsOf(options)));
    const erased = await trainer.eraseAccount(app_id);
    await trainer.close();
    if (erased.isErr()) throw erased.error;
    return erased.value;
  });
}

/**
 * Copies everything of a storage into an empty one, such as a directory of `fileStorage` into the database of
 * `postgresStorage`, and compares both by hash afterwards. Stop the processes that use it first.
 * Fails with a StorageError; then empty the copy.
 */
export function copyStorage(options: CopyStorageOptions): ResultAsync<CopiedStorage, OrchardError> {
  return called('copying a storage', () => copyAll(options));
}

/** The unused models of all accounts, as `Trainer.listUnusedModels` finds those of one. */
export function listUnusedModels(
  options: OperatorOptions & UnusedOptions,
): ResultAsync<readonly UnusedModel[], OrchardError> {
  return called('listing unused models', () => ofAllAccounts(options, unusedModels));
}

/** Deletes the unused models of all accounts. @returns the deleted models. */
export function removeUnusedModels(
  options: OperatorOptions & UnusedOptions,
): ResultAsync<readonly UnusedModel[], OrchardError> {
  return called('removing unused models', () => ofAllAccounts(options, removeUnused));
}

async function ofAllAccounts(
  options: OperatorOptions & UnusedOptions,
  work: (context: UnusedContext, days: number) => Promise<readonly UnusedModel[]>,
): Promise<readonly UnusedModel[]> {
  const storage = withStorageErrors(options.storage);
  const { days: given } = options;
  const { clock } = internalsOf(options);
  const { days } = unusedSettings({ ...(given !== undefined && { days: given }) });
  const found: UnusedModel[] = [];
  for await (const app_id of accountsWithJobs(storage)) {
    const jobs = new JobRepository(storage, app_id, taskOf);
    const uses = new ModelUses(storage, app_id, () => clock.now());
    found.push(...(await work({ app_id, storage, jobs, uses, clock }, days)));
  }
  return found;
}

function called<T>(doing: string, work: () => Promise<T>): ResultAsync<T, OrchardError> {
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, doing));
}

/** Trains nothing: a job that waits may get here before it is cancelled. */
const idleHost: TrainingHost = {
  run: ({ id }, { signal }) => untilAborted(`training job ${id}`, signal),
  close: async () => undefined,
};
const idleLoader: ModelLoader = {
  specificationVersion: 1,
  load: (name, { signal } = {}) => untilAborted(`loading ${name}`, signal),
};

function untilAborted(doing: string, signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(new AbortedError(doing));
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
  });
}
