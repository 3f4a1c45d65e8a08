import type { ResultAsync } from 'neverthrow';
import { onTestFinished } from 'vitest';
import type { OrchardError } from '../../src/contract/errors.js';
import { Trainer, type TrainerOptions } from '../../src/jobs/index.js';
import { HEARTBEAT_MS, LEASE_MS } from '../../src/jobs/one-job-per-account.js';
import { withInternals } from '../../src/jobs/trainer-options.js';
import { memoryStorage, type Storage } from '../../src/storage/index.js';
import { resultOf } from '../support/outcomes.js';
import { FakeHost } from './fake-host.js';
import { ManualClock } from './manual-clock.js';
import { aRequest } from './request.js';

export { aRequest, resultOf };

export const entityModel = { name: 'places', family: 'Grapefruit', size: 'base' } as const;

export interface TrainerInTest {
  readonly trainer: Trainer;
  readonly host: FakeHost;
  readonly clock: ManualClock;
  readonly storage: Storage;
}

/** A trainer over fakes, closed when the running test has finished. */
export function aTrainer({
  clock = new ManualClock(),
  ...options
}: Partial<TrainerOptions> & { clock?: ManualClock } = {}): TrainerInTest {
  const storage = options.storage ?? aMemoryStorage();
  const host = new FakeHost();
  const trainer = new Trainer(withInternals({ host, ...options, storage }, { clock }));
  onTestFinished(() => trainer.close());
  return { trainer, host, clock, storage };
}

/** A trainer after the time in which the leases of suspended ones, which it can't see, have become free. */
export async function aSuccessor(options: Partial<TrainerOptions>): Promise<TrainerInTest> {
  const successor = aTrainer(options);
  await outlastLeases(successor.clock);
  return successor;
}

/** Lets a trainer see for the time of a lease that nobody renews it. */
export async function outlastLeases(clock: ManualClock): Promise<void> {
  for (let passedMs = 0; passedMs <= LEASE_MS + HEARTBEAT_MS; passedMs += HEARTBEAT_MS) {
    await clock.advance(HEARTBEAT_MS);
  }
}

export function aMemoryStorage(): Storage {
  const storage = memoryStorage();
  onTestFinished(() => storage.close());
  return storage;
}

/** The error of a call that should fail. */
export async function errorOf(call: ResultAsync<unknown, OrchardError>): Promise<OrchardError> {
  return (await call)._unsafeUnwrapErr();
}

export async function createJob(trainer: Trainer, request = aRequest): Promise<string> {
  return (await resultOf(trainer.createTrainingJob(request))).id;
}

export async function statusOf(trainer: Trainer, id: string): Promise<string> {
  return (await resultOf(trainer.getTrainingJob(id))).status;
}

/** Resolves when the next write of a record of this collection has come through. */
export function nextWrite(storage: Storage, collection: string): Promise<void> {
  return new Promise((resolve) => {
    const { write } = storage;
    storage.write = async (...args) => {
      const version = await write.apply(storage, args);
      if (args[0] === collection) {
        storage.write = write;
        resolve();
      }
      return version;
    };
  });
}

/** Holds all writes back until what it returns is called. */
export function holdWrites(storage: Storage): () => void {
  const { write } = storage;
  let letWrite: () => void = () => undefined;
  const mayWrite = new Promise<void>((resolve) => {
    letWrite = resolve;
  });
  storage.write = async (...args) => {
    await mayWrite;
    return write.apply(storage, args);
  };
  return letWrite;
}

/** Lets no write of a collection through. @returns what lets them through again. */
export function refuseWrites(storage: Storage, refused: string, error: Error): () => void {
  const { write } = storage;
  storage.write = (collection, ...rest) =>
    collection === refused ? Promise.reject(error) : write.call(storage, collection, ...rest);
  return () => {
    storage.write = write;
  };
}
