import * as z from 'zod';
import {
  type DatasetProblem,
  EFFORTS,
  type FieldsOf,
  InternalError,
  inMessage,
  type ModelConfig,
  type ModelRecord,
  modelConfigSchema,
  type OrchardError,
  shownUrl,
  type Topk,
  type TrainingJobInformation,
  type TrainingJobStatus,
  type TrainingRequest,
  TransitionError,
  topkSchema,
  trainingConfigSchema,
  trainingJobStatusSchema,
  trainingStatsSchema,
} from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import { isVersionConflict, type JsonValue, type Storage, type Version, type Versioned } from '../storage/index.js';
import { DAMAGED_JOBS, JOBS } from './account-records.js';
import { timestamp } from './clock.js';

const warningSchema: z.ZodType<DatasetWarning> = z.lazy(() =>
  z.strictObject({
    kind: z.string(),
    count: z.int(),
    message: z.string(),
    examples: z.array(z.strictObject({ file: z.string(), line: z.int() })),
  }),
);

const problemSchema: z.ZodType<DatasetProblem> = z.lazy(() =>
  z.strictObject({
    file: z.string(),
    line: z.int().exactOptional(),
    column: z.union([z.int(), z.string()]).exactOptional(),
    found: z.string(),
    expected: z.string(),
  } satisfies FieldsOf<DatasetProblem>),
);

/** Why a job ended in ERROR. */
export interface JobError {
  /** The kind of failure, such as `dataset` or `download`: a code of OrchardError. */
  readonly code: string;
  /** What went wrong, for people. */
  readonly message: string;
  /** If the dataset is wrong: its first 100 problems. */
  readonly problems?: readonly DatasetProblem[];
  /** If the dataset could not be fetched: whether its URL is that of a file or of the web. */
  readonly source?: 'file' | 'web';
}

const jobErrorSchema: z.ZodType<JobError> = z.lazy(() =>
  z.strictObject({
    code: z.string(),
    message: z.string(),
    problems: z.array(problemSchema).exactOptional(),
    source: z.enum(['file', 'web']).exactOptional(),
  } satisfies FieldsOf<JobError>),
);

const share = z.number().min(0).lt(1);
/** The width of the widest encoders; a higher rank would not be low. */
const MAX_ADAPTER_RANK = 1024;
const adaptersSchema = z.lazy(() =>
  z.strictObject({
    rank: z.int().min(1).max(MAX_ADAPTER_RANK).exactOptional(),
    alpha: z.number().positive().exactOptional(),
    targets: z
      .array(z.enum(['query', 'key', 'value', 'attention-output', 'inner', 'outer']))
      .min(1, 'name at least one layer, such as query, or leave `adapters` out')
      .readonly()
      .exactOptional(),
    dropout: share.exactOptional(),
  }),
);
const FREEZE_MESSAGE = "give 'embeddings', or the number of lowest layers to freeze (at least 1)";
/** Choices beyond training_config; training/ says what each does. */
export const tuningSchema = z.strictObject({
  effort: z.enum(EFFORTS).exactOptional(),
  tokenDropout: share.exactOptional(),
  labelSmoothing: share.exactOptional(),
  classWeights: z.enum(['none', 'balanced']).exactOptional(),
  quantize: z.boolean().exactOptional(),
  adapters: adaptersSchema.exactOptional(),
  freeze: z.union([z.literal('embeddings'), z.int().min(1)], FREEZE_MESSAGE).exactOptional(),
});

/** The dev figures of a trained model, encoder and lexical expert together. Each task has its own figures. */
export interface BlendFigures {
  /** Classification, 0 to 1. */
  readonly accuracy?: number;
  /** Classification and entity labelling, 0 to 1. */
  readonly f1?: number;
  /** Question answering. */
  readonly topk?: Topk;
}

const blendSchema: z.ZodType<BlendFigures> = z.lazy(() =>
  z.strictObject({
    accuracy: z.number().exactOptional(),
    f1: z.number().exactOptional(),
    topk: topkSchema.exactOptional(),
  } satisfies FieldsOf<BlendFigures>),
);

const jobRecordSchema = z.lazy(() =>
  z.strictObject({
    id: z.uuid(),
    app_id: z.string(),
    status: trainingJobStatusSchema,
    created: z.iso.datetime({ offset: true }),
    dataset_url: z.string(),
    model_config: modelConfigSchema,
    training_config: trainingConfigSchema,
    seed: z.int(),
    // The settings of the trainer that created the job.
    allow_file_url: z.boolean(),
    allow_private_addresses: z.boolean(),
    tuning: tuningSchema,
    /** Null if none was chosen, so that language and size decide. */
    backbone: z.string().nullable(),
    stats: trainingStatsSchema,
    /** How many rows the validation figures of `stats` are measured on. */
    validation_rows: z.int().exactOptional(),
    /** The label that the F1 of `stats` and `blend` is of, if it is of one. */
    positive_label: z.string().exactOptional(),
    blend: blendSchema.exactOptional(),
    warnings: z.array(warningSchema),
    error: jobErrorSchema.exactOptional(),
    /**
     * How many runs have begun since the job last made progress, and the checkpoint that they began with. A run that
     * stops in an orderly way doesn't count.
     */
    attempts: z.strictObject({ count: z.int(), checkpoint: z.string().nullable() }).exactOptional(),
    /** The random token of the run that claimed the job last. Only this run may write how the job goes on. */
    claim: z.string().exactOptional(),
    /** The job is DELETED, and its files may still be there. */
    has_files: z.literal(true).exactOptional(),
    cancel_requested: z.literal(true).exactOptional(),
    /** A name points or pointed to the model, so that its deletion has to look for names. */
    was_named: z.literal(true).exactOptional(),
  }),
);
export type JobRecord = z.infer<typeof jobRecordSchema>;

type NewJob = Pick<JobRecord, 'id' | 'app_id' | 'created' | 'seed'> &
  Partial<Pick<JobRecord, 'allow_file_url' | 'allow_private_addresses' | 'tuning' | 'backbone'>>;

export function newJobRecord(
  { dataset_url, model_config, training_config = {} }: TrainingRequest,
  job: NewJob,
): JobRecord {
  return {
    allow_file_url: true,
    allow_private_addresses: true,
    tuning: {},
    backbone: null,
    ...job,
    status: 'CREATED',
    dataset_url,
    model_config,
    training_config,
    stats: {
      batch_size: training_config.batch_size ?? 0, // training chooses one by the number of rows
      epoch: 0,
      metrics: { elapsed_time: [], training: { loss: [] }, validation: {} },
    },
    warnings: [],
  };
}

/** Fields of a training request, and options of a trainer, that are other than the options of `train`. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['learningRate', 'learning_rate'],
  ['batchSize', 'batch_size'],
  ['pretrained', 'use_pretrained'],
  ['lowercase', 'preprocessing.lowercase'],
  ['base', 'backbone'],
]);

/** A message of a training run, with the names that a job has. */
export function inJob(message: string): string {
  return inMessage(
    message,
    (name, value) => `\`${FIELDS.get(name) ?? name}${value === undefined ? '' : `: ${value}`}\``,
  );
}

export function toJobError(error: OrchardError): JobError {
  const { code } = error;
  const message = inJob(error.message);
  switch (error.code) {
    case 'dataset':
      return { code, message, problems: error.problems };
    case 'download':
      return { code, message, source: /^file:/i.test(error.url) ? 'file' : 'web' };
    default:
      return { code, message };
  }
}

/**
 * Every transition of a training job. A deletion cancels a job that has not ended first, so only ended jobs become
 * DELETED.
 */
const successors: Readonly<Record<TrainingJobStatus, readonly TrainingJobStatus[]>> = {
  CREATED: ['QUEUED', 'CANCELLED'],
  QUEUED: ['RUNNING', 'CANCELLED'],
  RUNNING: ['READY', 'ERROR', 'CANCELLED'],
  READY: ['DELETED'],
  ERROR: ['DELETED'],
  CANCELLED: ['DELETED'],
  DELETED: [],
};

const unfinished: readonly TrainingJobStatus[] = ['CREATED', 'QUEUED', 'RUNNING'];

export function hasEnded(status: TrainingJobStatus): boolean {
  return !unfinished.includes(status);
}

export function isWaiting(status: TrainingJobStatus): boolean {
  return status === 'CREATED' || status === 'QUEUED';
}

/** Whether `later` can follow `earlier`, directly or through other states. */
export function canReach(earlier: TrainingJobStatus, later: TrainingJobStatus): boolean {
  return successors[earlier].some((next) => next === later || canReach(next, later));
}

/**
 * The job in its next state. Nothing else changes a status. A job that has ended keeps no secret of its dataset's URL,
 * such as a signature: it is not downloaded again.
 * @throws TransitionError if the table has no such transition.
 */
export function moved(job: JobRecord, to: TrainingJobStatus): JobRecord {
  if (!successors[job.status].includes(to)) throw new TransitionError(job.id, job.status, to);
  return { ...job, status: to, ...(hasEnded(to) && { dataset_url: shownUrl(job.dataset_url) }) };
}

/** The documented training job information, with additions of the library. */
export interface JobInformation extends TrainingJobInformation {
  /** Present if the job ended in the state ERROR, also after it was deleted. */
  readonly error?: JobError;
  /**
   * Number of dev rows that `metrics.validation` is measured on. Present after the first epoch.
   */
  readonly validation_rows?: number;
  /** The label that every F1 of the job is of. Absent if it is the mean over all labels, or of entities. */
  readonly positive_label?: string;
  /** The dev figures of the model's encoder and lexical expert together; present once the training has ended. */
  readonly blend?: BlendFigures;
  /** Warnings about the dataset or the training, which don't prevent it. */
  readonly warnings: readonly DatasetWarning[];
}

export function toModelRecord(job: JobRecord): ModelRecord {
  return {
    id: job.id,
    app_id: job.app_id,
    name: job.model_config.name,
    training_status: job.status,
    type: job.model_config.type,
    modality: 'language',
    created: job.created,
  };
}

export function toJobInformation(job: JobRecord): JobInformation {
  return {
    model: toModelRecord(job),
    training_stats: job.stats,
    status: job.status,
    created: job.created,
    ...(job.error && { error: job.error }),
    ...(job.validation_rows !== undefined && { validation_rows: job.validation_rows }),
    ...(job.positive_label !== undefined && { positive_label: job.positive_label }),
    ...(job.blend && { blend: job.blend }),
    warnings: job.warnings,
  };
}

/** What a job's model is called if its damaged record doesn't tell. */
const UNKNOWN_MODEL: ModelConfig = {
  name: 'damaged-record',
  type: 'multiclass-text-classification',
  family: 'Papaya',
  size: 'base',
};

const rest = z.lazy(() => z.object({ model_config: modelConfigSchema }).partial());
const goneSchema = z.lazy(() => z.object({ status: z.literal('DELETED') }));

export interface StoredJob {
  readonly job: JobRecord;
  readonly version: Version;
}

/** A job as its record says. If the record is damaged, the job is an ERROR, and `damage` says what is wrong. */
export function parseJob(
  names: { app_id: string; id: string },
  { value, damage }: Versioned,
): { readonly job: JobRecord; readonly damage?: string } {
  const parsed = damage === undefined ? jobRecordSchema.safeParse(value) : undefined;
  if (parsed?.success) return { job: parsed.data };
  const record = `${JOBS}/${encodeURIComponent(names.app_id)}/${names.id}`;
  // Not `damage`, which may name a path of the machine: clients read this message.
  const reason = damage === undefined ? firstProblem(parsed?.error) : 'it is not a record';
  const message = `record ${record} is damaged (${reason}); its remains are kept as damaged-${record}; delete this model and train it again`;
  return { job: damagedJob(names, value, message), damage: message };
}

/**
 * Drops undefined fields, as JSON has no such value.
 * @throws InternalError for a job that could not be read back, such as one with a figure that is not finite.
 */
export function toJson(job: JobRecord): JsonValue {
  const checked = jobRecordSchema.safeParse(job);
  if (!checked.success) {
    throw new InternalError(`training job ${job.id} can't be recorded: ${firstProblem(checked.error)}`);
  }
  return JSON.parse(JSON.stringify(job));
}

/** Keeps the rest of a damaged record before it is replaced, unless that was done before. */
export async function keepDamaged(
  storage: Storage,
  key: string,
  { value, damage }: Versioned,
  message: string,
): Promise<void> {
  const kept = { message: damage ?? message, left: value };
  try {
    await storage.write(DAMAGED_JOBS, key, kept, undefined, { isUrgent: true });
  } catch (thrown) {
    if (!isVersionConflict(thrown)) throw thrown;
  }
}

function damagedJob({ app_id, id }: { app_id: string; id: string }, value: JsonValue, message: string): JobRecord {
  const { model_config = UNKNOWN_MODEL } = rest.safeParse(value).data ?? {};
  const request = { dataset_url: 'unknown:', model_config };
  const created = timestamp(createdMs(id));
  const job = newJobRecord(request, { id, app_id, created, seed: 0 });
  if (goneSchema.safeParse(value).success) return { ...job, status: 'DELETED' };
  return { ...job, status: 'ERROR', error: { code: 'storage', message } };
}

/** When an id was made: the first 48 bits of a UUID of version 7, in milliseconds since 1970. */
export function createdMs(id: string): number {
  return Number.parseInt(id.replace('-', '').slice(0, 12), 16);
}

function firstProblem(error: z.ZodError | undefined): string {
  const issue = error?.issues[0];
  return issue ? `${issue.path.join('.')}: ${issue.message}` : 'it is not valid';
}
