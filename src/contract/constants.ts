/** Names, limits and patterns of the contract. Without zod, so that the command and inference threads start fast. */

/** Everything that a model can be trained to do. */
export const modelTypes = [
  'binary-text-classification',
  'multiclass-text-classification',
  'multilabel-text-classification',
  'named-entity-recognition',
  'sequence-labeling',
  'question-answering',
] as const;
/** What a model does. `named-entity-recognition` and `sequence-labeling` name the same task. */
export type ModelType = (typeof modelTypes)[number];

/** How files of rows may be written (docs/files.md). */
export const ROW_FORMATS = ['csv', 'tsv', 'json', 'jsonl', 'conll', 'fasttext', 'markdown'] as const;
/** Encodings that files of rows may have. */
export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const;
/** What places of entities count. Python and the tools that are written in it count code points. */
export const OFFSETS = ['utf-16', 'code-points', 'bytes'] as const;
/** How labels of tokens become entities. */
export const AGGREGATIONS = ['simple', 'first'] as const;
/** Forms of the weights of a copied model. */
export const WEIGHT_FORMS = ['float32', 'int8'] as const;
/** How much time training may take to make the model better. */
export const EFFORTS = ['quick', 'balanced', 'thorough'] as const;

export const familyNames = ['Papaya', 'Grapefruit', 'Dragonfruit'] as const;
/** Papaya classifies text, Grapefruit labels sequences, Dragonfruit answers questions with passages. */
export type FamilyName = (typeof familyNames)[number];

/** The family of each type of model. */
export const familyNameOf: Readonly<Record<ModelType, FamilyName>> = {
  'binary-text-classification': 'Papaya',
  'multiclass-text-classification': 'Papaya',
  'multilabel-text-classification': 'Papaya',
  'named-entity-recognition': 'Grapefruit',
  'sequence-labeling': 'Grapefruit',
  'question-answering': 'Dragonfruit',
};

export const modelSizes = ['mini', 'base'] as const;
/** mini: 4 layers of width 256, with 4 attention heads. base: 6 layers of width 384, with 6 attention heads. */
export type ModelSize = (typeof modelSizes)[number];

/** The states that a training job may be in. */
export const trainingJobStatuses = ['CREATED', 'QUEUED', 'RUNNING', 'READY', 'CANCELLED', 'DELETED', 'ERROR'] as const;
/** The status of a training job. For the transitions, see docs/service-jobs.md, "States of a job". */
export type TrainingJobStatus = (typeof trainingJobStatuses)[number];

/**
 * Where ONNX Runtime can compute: `cpu`; `webgpu`, any GPU by Vulkan, Metal or Direct3D 12; `cuda`, `coreml` and `dml`
 * where the installed runtime has them.
 */
export type ExecutionProvider = 'cpu' | 'webgpu' | 'cuda' | 'coreml' | 'dml';
export const EXECUTION_PROVIDERS = [
  'cpu',
  'webgpu',
  'cuda',
  'coreml',
  'dml',
] as const satisfies readonly ExecutionProvider[];

/** The option `device`: the name of a device, or `auto`, which measures and chooses one. */
export type Device = 'auto' | ExecutionProvider;
export const DEVICES = ['auto', ...EXECUTION_PROVIDERS] as const satisfies readonly Device[];

/**
 * The option `runtime`, which says what runs the encoders of models: `onnx`, the native ONNX Runtime; `wasm`,
 * WebAssembly; or `auto`, which uses WebAssembly only if ONNX Runtime can't be loaded.
 */
export type Runtime = 'auto' | 'onnx' | 'wasm';
/** A runtime that computes. */
export type UsedRuntime = Exclude<Runtime, 'auto'>;
export const RUNTIMES = ['auto', 'onnx', 'wasm'] as const satisfies readonly Runtime[];

/** Whether the training data of a model allow its commercial use. */
export interface UsageTerms {
  /** False if some of the data are for non-commercial use, or have no licence. */
  readonly commercial_use: boolean;
  /** The data that rule it out, with the reason. */
  readonly reasons: readonly string[];
  /** What to use instead. */
  readonly alternative?: string;
}

/** Accounts, which own jobs and models, and their tiers (docs/service.md, "Keys, accounts, tiers"). */

/** The subscription of an account. `pro` adds batches, medleys and training for question answering. */
export type Tier = 'basic' | 'pro';
export const tiers = ['basic', 'pro'] as const satisfies readonly Tier[];

/** The owner of jobs and models. An account sees only its own. */
export interface Account {
  /** 1 to 50 printable ASCII characters. */
  readonly app_id: string;
  readonly tier: Tier;
}

/** The `app_id` of an account. */
export const APP_ID = /^[ -~]{1,50}$/;

/** The default account. */
export const LOCAL_ACCOUNT: Account = { app_id: 'local', tier: 'pro' };

/** Maximum number of queries in a batch (docs/service-errors.md, "Limits"). */
export const MAX_BATCH_QUERIES = 20;
/**
 * Maximum length of a query in UTF-16 code units (docs/service-errors.md, "Limits"), about fifty pages. A small encoder
 * needs seconds to read a query of this length. It reads in slices, so that other queries can run in between.
 */
export const MAX_QUERY_CHARACTERS = 100_000;
/** Maximum number of queries in a medley batch (docs/service-errors.md, "Limits"). */
export const MAX_MEDLEY_QUERIES = 50;
/** Maximum number of models of one medley request that run at the same time (docs/service-errors.md, "Limits"). */
export const MAX_CONCURRENT_MODELS = 2;
/** Maximum number of models of one medley request: the number of pretrained names, so that the work is bounded. */
export const MAX_MEDLEY_MODELS = 11;

/** The names of the pretrained models in the catalogue (docs/service.md, "Pretrained models"). */
export const pretrainedModelNames = [
  'customer-review',
  'sentiment-classification',
  'emotion-detection',
  'toxicity-detection',
  'news-classification',
  'financial-customer-support',
  'financial-sentiment-analysis',
  'conversational-language-understanding-english',
  'conversational-language-understanding-japanese',
  'named-entity-recognition',
  'research-papers-search',
] as const;
/** A pretrained model of the catalogue. Other names work too if the model loader knows them. */
export type PretrainedModelName = (typeof pretrainedModelNames)[number];

/** How to show results to people: labels by their scores, entities in their text, or passages by rank. */
export type AnswerView = 'labels' | 'entities' | 'passages';
export const answerViews = ['labels', 'entities', 'passages'] as const satisfies readonly AnswerView[];

/** Maximum length of a model name (docs/service-errors.md, "Limits"). */
export const MAX_MODEL_NAME_LENGTH = 24;
/** The characters of a model name. */
export const MODEL_NAME = /^[a-z0-9-]*$/;
/** A name that points to a model: a name as models have, and a stage. */
export const VERSION_NAME = /^[a-z0-9-]{1,24}@[a-z0-9-]{1,24}$/;
/** Maximum number of such names of an account. They are in one record. */
export const MAX_VERSION_NAMES = 100;
/** How many changes of a name are kept. A rollback can go back as far. */
export const MAX_VERSION_CHANGES = 20;
/** Maximum number of pairs of labels whose queries a shadow counts. */
export const MAX_LABEL_PAIRS = 200;
/** Maximum length of an idempotency key, in UTF-16 code units. Requests with the same key create one job. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/** The default batch size. Training on few rows may choose a smaller one, and reports it. */
export const DEFAULT_BATCH_SIZE = 32;

/** Share of the rows that is set aside for dev if no dev rows are given. */
export const DEFAULT_DEV_FRACTION = 0.1;
