import type { Account } from '../contract/index.js';
import { inferenceService, type ServiceOptions } from '../inference/index.js';
import { Medley } from '../medley/index.js';
import { catalogueModels, type ModelLoader } from '../model-loader/index.js';
import { Predictor } from '../predictor/index.js';
import type { Storage } from '../storage/index.js';
import { Trainer, type TrainerOptions } from '../trainer/index.js';
import { FolderUploads } from './folder-uploads.js';
import { type OperatorServices, operatorServices } from './operator-services.js';
import { type PageServices, pageServices } from './page-services.js';
import type { Services } from './services.js';
import { StoredUploads } from './stored-uploads.js';
import type { UploadLimits } from './upload-budget.js';
import { uploadReadingHost } from './upload-host.js';

export interface AccountServicesOptions {
  /** Where the jobs and models of all accounts live. Stays open on close. */
  readonly storage: Storage;
  /** For every trainer. Unless it says otherwise, dataset_url may be neither a file nor lead to a private address. */
  readonly trainer?: Omit<TrainerOptions, 'storage' | 'account'>;
  /** Where pretrained models come from. Default: the catalogue. */
  readonly modelLoader?: ModelLoader;
  /**
   * Where datasets that the page at / uploads wait for their jobs. Default: a temporary folder that goes
   * with the process, so that a job that trains on one can't go on after a restart.
   */
  readonly uploadDirectory?: string;
  /**
   * Keeps them in the storage instead, where trainers of other processes and machines can read them. Default false.
   */
  readonly uploadsInStorage?: boolean;
  /** How much disk those datasets may take, by account and in all. */
  readonly uploadLimits?: UploadLimits;
  /** How the models of all accounts are run: one service has them all, in 2 worker threads unless this says otherwise. */
  readonly inference?: ServiceOptions;
  /** Removes what is counted of an account outside the storage, when it is erased. Default: nothing is. */
  readonly forget?: (app_id: string) => Promise<void>;
}

/** A Trainer, a Predictor and a Medley for each account, made when it is first asked for. */
export interface AccountServices extends Services {
  readonly trainer: (account: Account) => Trainer;
  readonly predictor: (account: Account) => Predictor;
  readonly medley: (account: Account) => Medley;
  readonly page: PageServices;
  /** For a handler with `authenticateOperator`. */
  readonly operator: OperatorServices;
  /** Closes them all: calls come to their end, and running jobs stay resumable. Idempotent. */
  close(): Promise<void>;
}

/** @throws ValidationError where an option is none. */
export function accountServices({
  storage,
  trainer,
  modelLoader = catalogueModels(),
  inference: run,
  uploadDirectory,
  uploadsInStorage = false,
  uploadLimits,
  forget,
}: AccountServicesOptions): AccountServices {
  const strict = { allowFileUrls: false, allowPrivateAddresses: false };
  const inference = inferenceService({ workers: 2, ...run });
  const models = { inference, modelLoader };
  const host = uploadsInStorage ? uploadReadingHost({ ...trainer }, storage) : undefined;
  const training = { ...strict, ...trainer, ...(host && { host }), storage };
  const trainers = perAccount((account) => new Trainer({ ...training, account }));
  const predictors = perAccount((account) => new Predictor({ ...models, storage, account }));
  const medleys = perAccount((account) => new Medley({ ...models, account }));
  const uploads = uploadsInStorage
    ? new StoredUploads(storage, trainers.of, uploadLimits)
    : new FolderUploads(trainers.of, uploadDirectory, uploadLimits);
  const page = pageServices({
    modelLoader,
    uploads,
    storage,
    trainer: trainers.of,
    predictor: predictors.of,
  });
  return {
    trainer: trainers.of,
    predictor: predictors.of,
    medley: medleys.of,
    page,
    operator: operatorServices({
      storage,
      trainerOf: trainers.madeFor,
      queue: trainer?.queue,
      eraseUploads: (app_id) => page.uploads.erase(app_id),
      forget,
    }),
    async close() {
      await Promise.all([trainers.close(), predictors.close(), medleys.close()]);
      await Promise.all([inference.close(), page.uploads.close(), host?.close()]);
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
    /** One that has been made for the account, whatever its tier. */
    madeFor: (app_id: string): T | undefined => made.get(`pro ${app_id}`) ?? made.get(`basic ${app_id}`),
    async close(): Promise<void> {
      await Promise.all([...made.values()].map((each) => each.close()));
    },
  };
}
