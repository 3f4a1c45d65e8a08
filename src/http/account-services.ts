import type { Account } from '../contract/index.js';
import { Medley, type MedleyOptions } from '../medley/index.js';
import { Predictor, type PredictorOptions } from '../predictor/index.js';
import type { Storage } from '../storage/index.js';
import { Trainer, type TrainerOptions } from '../trainer/index.js';
import type { Services } from './services.js';

export interface AccountServicesOptions {
  /** Where the jobs and models of all accounts live. Stays open on close. */
  readonly storage: Storage;
  /** For every trainer. Unless it says otherwise, dataset_url may be neither a file nor lead to a private address. */
  readonly trainer?: Omit<TrainerOptions, 'storage' | 'account'>;
  readonly predictor?: Omit<PredictorOptions, 'storage' | 'account'>;
  readonly medley?: Omit<MedleyOptions, 'account'>;
}

/** A Trainer, a Predictor and a Medley for each account, made when it is first asked for. */
export interface AccountServices extends Services {
  readonly trainer: (account: Account) => Trainer;
  readonly predictor: (account: Account) => Predictor;
  readonly medley: (account: Account) => Medley;
  /** Closes them all: calls come to their end, and running jobs stay resumable. Idempotent. */
  close(): Promise<void>;
}

export function accountServices({ storage, ...options }: AccountServicesOptions): AccountServices {
  const strict = { allowFileUrls: false, allowPrivateAddresses: false };
  const trainers = perAccount((account) => new Trainer({ ...strict, ...options.trainer, storage, account }));
  const predictors = perAccount((account) => new Predictor({ ...options.predictor, storage, account }));
  const medleys = perAccount((account) => new Medley({ ...options.medley, account }));
  return {
    trainer: trainers.of,
    predictor: predictors.of,
    medley: medleys.of,
    async close() {
      await Promise.all([trainers.close(), predictors.close(), medleys.close()]);
    },
  };
}

function perAccount<T extends { close(): Promise<void> }>(create: (account: Account) => T) {
  const made = new Map<string, T>();
  return {
    of(account: Account): T {
      const key = `${account.tier} ${account.app_id}`;
      const found = made.get(key) ?? create(account);
      made.set(key, found);
      return found;
    },
    async close(): Promise<void> {
      await Promise.all([...made.values()].map((each) => each.close()));
    },
  };
}
