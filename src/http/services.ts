import { readdir } from 'node:fs/promises';
import {
  type Account,
  type InferenceResponse,
  type ModelType,
  orThrow,
  pretrainedModelNames,
} from '../contract/index.js';
import type { Explanation } from '../families/index.js';
import {
  type ExplainOptions,
  inferenceService,
  isNamedDevice,
  Medley,
  Predictor,
  type ServiceOptions,
} from '../inference/index.js';
import {
  type ErasedAccount,
  eraseAccount,
  type JobQueue,
  listUnusedModels,
  ModelVersions,
  ReadyModels,
  removeUnusedModels,
  Trainer,
  type TrainerOptions,
  type UnusedModel,
  type UnusedOptions,
} from '../jobs/index.js';
import { CONFIG_FILE, catalogueModels, type ModelLoader, modelFolderConfig, readFolderFile } from '../models/index.js';
import type { Storage } from '../storage/index.js';
import { bytesIn } from '../system/index.js';
import { DriftWatch } from './drift-watch.js';
import { type LabellingLimits, LabellingSets } from './labelling.js';
import { DatasetUploads, MAX_ROWS_THREADS, Turns, type UploadLimits, uploadReadingHost } from './uploads.js';

/** What the service needs of a Trainer. */
export type TrainerService = Pick<
  Trainer,
  | 'createTrainingJob'
  | 'getTrainingJob'
  | 'listTrainingJobs'
  | 'cancelTrainingJob'
  | 'getModel'
  | 'listModels'
  | 'deleteModel'
  | 'watch'
>;
/** What the service needs of a Predictor. */
export type PredictorService = Pick<
  Predictor,
  'predictPretrained' | 'predictPretrainedBatch' | 'predictCustom' | 'predictCustomBatch'
>;
/** What the service needs of a Medley. */
export type MedleyService = Pick<Medley, 'predict' | 'predictBatch' | 'predictPretrainedBatch'>;

/** What the service needs of ModelVersions. */
export type VersionsService = Pick<
  ModelVersions,
  'list' | 'get' | 'promote' | 'rollBack' | 'setShadow' | 'clearShadow' | 'delete'
>;
/** Returns the named versions of an account. Called for every request. */
export type VersionsOf = (account: Account) => VersionsService;

/** Each function returns an account's view of the models; it is called for every request. */
export interface Services {
  readonly trainer: (account: Account) => TrainerService;
  readonly predictor: (account: Account) => PredictorService;
  readonly medley: (account: Account) => MedleyService;
  /** Required only for the routes under /versions. Default: no such routes. */
  readonly versions?: VersionsOf | undefined;
  /** Required only for the page at /. Default: no page. */
  readonly page?: PageServices | undefined;
  /** Compares the queries of custom models with the models' baselines, for /metrics. Default: nothing is compared. */
  readonly drift?: DriftWatch | undefined;
}

/** What the page at / needs in addition. */
export interface PageServices {
  /** The pretrained models of docs/service.md that are installed. */
  installedModels(): Promise<readonly InstalledModel[]>;
  readonly uploads: DatasetUploads;
  /** The sets of texts that accounts label on the page. */
  readonly labelling: LabellingSets;
  /**
   * Returns an answer of a model, and which words influenced it.
   * @param model `pre-trained/<name>` or `model/<id>`. @throws OrchardError
   */
  explain(
    account: Account,
    model: string,
    query: string,
    options: ExplainOptions,
  ): Promise<InferenceResponse<Explanation>>;
  /** The report of an account's model, as HTML. @throws OrchardError */
  report(account: Account, id: string): Promise<string>;
  /** The folder of an account's model. @throws OrchardError */
  modelFolder(account: Account, id: string): Promise<string>;
}

/** An installed pretrained model. */
export interface InstalledModel {
  readonly name: string;
  readonly type: ModelType;
  /** False if its training data rule that out. */
  readonly commercial_use: boolean;
  /** Size of its files; absent if it is unknown. */
  readonly bytes?: number | undefined;
}

/** What was removed with an account. */
export type ErasedData = ErasedAccount;

/** The functions of an operator, for all accounts. */
export interface OperatorServices {
  /** Removes all data of an account. Rejects with a ValidationError or a StorageError. */
  eraseAccount(app_id: string): Promise<ErasedData>;
  listUnusedModels(options: UnusedOptions): Promise<readonly UnusedModel[]>;
  removeUnusedModels(options: UnusedOptions): Promise<readonly UnusedModel[]>;
}

/** Options of {@link accountServices}. */
export interface AccountServicesOptions {
  /** Jobs, models and uploaded datasets of all accounts. Stays open on close. */
  readonly storage: Storage;
  /** Options of every trainer. By default, a dataset_url may not be a file or lead to a private address. */
  readonly trainer?: Omit<TrainerOptions, 'storage' | 'account'>;
  /** Loads the pretrained models. Default: the catalogue. */
  readonly modelLoader?: ModelLoader;
  /** Disk space for the datasets uploaded by the page at /, per account and in total. */
  readonly uploadLimits?: UploadLimits;
  /** Number and size of the sets of texts that an account labels on the page. */
  readonly labellingLimits?: LabellingLimits;
  /**
   * Options of the one inference service that runs the models of all accounts. Default: 2 worker threads, or one if
   * `device` names a device other than `cpu`.
   */
  readonly inference?: ServiceOptions;
  /**
   * Whether to compare the queries of custom models with the texts they were trained on, for /metrics (docs/drift.md).
   * Default false.
   */
  readonly watchDrift?: boolean | undefined;
  /** Called when an account is erased, to remove its counts outside of the storage. Default: there are none. */
  readonly forget?: (app_id: string) => Promise<void>;
}

/** A Trainer, a Predictor and a Medley for each account, created on first use. */
export interface AccountServices extends Services {
  readonly trainer: (account: Account) => Trainer;
  readonly predictor: (account: Account) => Predictor;
  readonly medley: (account: Account) => Medley;
  readonly versions: (account: Account) => ModelVersions;
  readonly page: PageServices;
  /** The functions of operators, for a handler with `authenticateOperator`. */
  readonly operator: OperatorServices;
  /** Closes them all: open calls finish, and running jobs stay resumable. Idempotent. */
  close(): Promise<void>;
}

/**
 * Creates the services of all accounts on one storage, for `createHandler`. @throws ValidationError for an invalid
 * option
 */
export function accountServices({
  storage,
  trainer: trainerOptions = {},
  modelLoader = catalogueModels(),
  inference: inferenceOptions,
  uploadLimits,
  labellingLimits,
  watchDrift = false,
  forget,
}: AccountServicesOptions): AccountServices {
  const strict = { allowFileUrls: false, allowPrivateAddresses: false };
  const host = uploadReadingHost(trainerOptions, storage);
  const training = { ...strict, ...trainerOptions, host, storage };
  const workers = isNamedDevice(inferenceOptions?.device) ? 1 : 2;
  const inference = inferenceService({ workers, ...inferenceOptions });
  const models = { inference, modelLoader };
  const trainers = perAccount((account) => new Trainer({ ...training, account }));
  const predictors = perAccount((account) => new Predictor({ ...models, storage, account }));
  const medleys = perAccount((account) => new Medley({ ...models, account }));
  const reading = new Turns(MAX_ROWS_THREADS);
  const uploads = new DatasetUploads(storage, trainers.of, uploadLimits, reading);
  const modelFolder = async ({ app_id }: Account, id: string) => {
    const ready = new ReadyModels(storage, app_id, { gone: () => undefined });
    try {
      return await ready.directoryOf(id);
    } finally {
      ready.close();
    }
  };
  const labelling = new LabellingSets({
    ...{ storage, trainer: trainers.of, predictor: predictors.of, modelFolder, reading, ordering: new Turns(1) },
    ...{ limits: labellingLimits, runtime: inferenceOptions?.runtime },
  });
  const drift = watchDrift ? new DriftWatch(modelFolder) : undefined;
  return {
    trainer: trainers.of,
    predictor: predictors.of,
    medley: medleys.of,
    versions: (account) => new ModelVersions({ storage, account }),
    page: {
      installedModels: () => installedModels(modelLoader),
      uploads,
      labelling,
      explain(account, model, query, options) {
        const predictor = predictors.of(account);
        const [, kind, name = model] = /^(pre-trained|model)\/(.+)$/.exec(model) ?? [];
        return orThrow(
          kind === 'model'
            ? predictor.explainCustom(name, query, options)
            : predictor.explainPretrained(name, query, options),
        );
      },
      report: (account, id) => orThrow(trainers.of(account).report(id)),
      modelFolder,
    },
    ...(drift && { drift }),
    operator: operatorServices({
      ...{ storage, trainerOf: trainers.madeFor, queue: trainerOptions.queue },
      async forget(app_id) {
        drift?.forget(app_id);
        await forget?.(app_id);
      },
    }),
    async close() {
      labelling.close();
      await Promise.all([trainers.close(), predictors.close(), medleys.close()]);
      await Promise.all([inference.close(), uploads.close(), host.close()]);
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
    /** One that was created for the account, of either tier. */
    madeFor: (app_id: string): T | undefined => made.get(`pro ${app_id}`) ?? made.get(`basic ${app_id}`),
    async close(): Promise<void> {
      await Promise.all([...made.values()].map((each) => each.close()));
    },
  };
}

async function installedModels(loader: ModelLoader): Promise<readonly InstalledModel[]> {
  const found = await Promise.all(
    pretrainedModelNames.map(async (name) => {
      try {
        const { directory } = await loader.load(name, { files: [CONFIG_FILE] });
        const config: unknown = JSON.parse((await readFolderFile(directory, CONFIG_FILE)).toString('utf8'));
        const { type, licence } = modelFolderConfig(config, CONFIG_FILE).orchard;
        const bytes = await bytesOf(directory);
        return [{ name, type, commercial_use: licence?.commercial_use !== false, ...(bytes && { bytes }) }];
      } catch {
        return []; // it could not answer, so it is not offered
      }
    }),
  );
  return found.flat();
}

/** The size of a model folder; undefined if a loader has fetched only some of its files. */
async function bytesOf(directory: string): Promise<number | undefined> {
  const names = await readdir(directory, { recursive: true });
  return names.some((name) => name.endsWith('.onnx')) ? bytesIn(directory) : undefined;
}

export function operatorServices({
  storage,
  trainerOf,
  queue,
  forget,
}: {
  readonly storage: Storage;
  /** An existing trainer of the account: its running jobs stop at once. Default: none. */
  readonly trainerOf?: (app_id: string) => Pick<Trainer, 'eraseAccount'> | undefined;
  readonly queue?: JobQueue | undefined;
  readonly forget?: ((app_id: string) => Promise<void>) | undefined;
}): OperatorServices {
  return {
    async eraseAccount(app_id) {
      const erasing =
        trainerOf?.(app_id)?.eraseAccount(app_id) ?? eraseAccount({ storage, app_id, ...(queue && { queue }) });
      const erased = await orThrow(erasing);
      await forget?.(app_id);
      return erased;
    },
    listUnusedModels: (options) => orThrow(listUnusedModels({ storage, ...options })),
    removeUnusedModels: (options) => orThrow(removeUnusedModels({ storage, ...options })),
  };
}
