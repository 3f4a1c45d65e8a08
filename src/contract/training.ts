import * as z from 'zod';
import {
  type FamilyName,
  familyNameOf,
  familyNames,
  MAX_MODEL_NAME_LENGTH,
  MODEL_NAME,
  type ModelSize,
  type ModelType,
  modelSizes,
  modelTypes,
  type TrainingJobStatus,
  trainingJobStatuses,
} from './constants.js';
import { absentable, type FieldsOf } from './validate.js';

export const modelTypeSchema = z.enum(modelTypes);

const familyNameSchema = z.enum(familyNames);

export const modelSizeSchema = z.enum(modelSizes);

export const trainingJobStatusSchema = z.enum(trainingJobStatuses);

/** The training request, with every rule on its fields (docs/service-jobs.md, "The training request"). */

/** How texts are changed before the model reads them. */
export interface Preprocessing {
  /** Whether to convert to lower case; false for case-sensitive tasks. Default true, or what the backbone expects. */
  readonly lowercase?: boolean | undefined;
}

const preprocessingSchema = z.lazy(() =>
  z.strictObject({
    lowercase: absentable(z.boolean()).meta({
      description: 'Whether to convert texts to lower case; false for case-sensitive tasks.',
    }),
  } satisfies FieldsOf<Preprocessing>),
);

/** The model that a request asks for (docs/service-jobs.md, "The training request"). */
export interface ModelConfig {
  /** 1 to 24 characters of a–z, 0–9 and `-`. Names need not be unique. */
  readonly name: string;
  /** The task of the model. */
  readonly type: ModelType;
  /** The family of that type. */
  readonly family: FamilyName;
  /**
   * Selects the backbone, together with the language. If training starts from random weights, the number and width of
   * the layers.
   */
  readonly size: ModelSize;
  /** Default: what the backbone expects, else `{ lowercase: true }`. */
  readonly preprocessing?: Preprocessing | undefined;
}

export const modelConfigSchema: z.ZodType<ModelConfig> = z.lazy(() =>
  z.strictObject({
    name: z
      .string()
      .min(1, 'the model name is empty; give 1 to 24 characters of a–z, 0–9 and "-"')
      .max(MAX_MODEL_NAME_LENGTH, `the model name is longer than ${MAX_MODEL_NAME_LENGTH} characters; shorten it`)
      .regex(MODEL_NAME, 'the model name may contain only a–z, 0–9 and "-"')
      .meta({ description: 'The name of the model. Names need not be unique.' }),
    type: modelTypeSchema.meta({ description: 'The task of the model.' }),
    family: familyNameSchema.meta({ description: 'The family of that type.' }),
    size: modelSizeSchema.meta({
      description:
        'Selects the backbone, together with the language. If training starts from random weights, the number and width of the layers.',
    }),
    preprocessing: absentable(preprocessingSchema).meta({
      description: 'Default: what the backbone expects; without a backbone, conversion to lower case.',
    }),
  } satisfies FieldsOf<ModelConfig>),
);

/** For a model to train: its family is the family of its type. */
export const trainableModelSchema = modelConfigSchema
  .superRefine(({ type, family }, context) => {
    const right = familyNameOf[type];
    if (right === family) return;
    const message = `a ${type} model is of family ${right}, not ${family}`;
    context.addIssue({ code: 'custom', path: ['family'], message });
  })
  .meta({ description: 'The model to train.' });

/** How to train (docs/service-jobs.md, "The training request", and docs/training.md). */
export interface TrainingConfig {
  /** Rows per step, 1 to 1,024. Default 32, or 16 below 2,000 rows, for training in epochs. */
  readonly batch_size?: number | undefined;
  /** The peak learning rate, above 0 and at most 1. The default depends on the size or backbone. */
  readonly learning_rate?: number | undefined;
  /** Maximum number of epochs, 1 to 1,000; training stops early without progress. The default depends on family and rows. */
  readonly num_epochs?: number | undefined;
  /** An English name or a code such as `en-GB`, 1 to 40 characters. Default `english`. */
  readonly language?: string | undefined;
  /** Add edited copies of training rows. Default false. */
  readonly data_augmentation?: boolean | undefined;
  /** Start from a backbone; if there is none, the job warns. Default true. */
  readonly use_pretrained?: boolean | undefined;
  /** The same as in `model_config`; give it in one of the two places. */
  readonly preprocessing?: Preprocessing | undefined;
}

export const trainingConfigSchema: z.ZodType<TrainingConfig> = z.lazy(() =>
  z.strictObject({
    batch_size: absentable(z.int().min(1).max(1024)).meta({
      description:
        'Rows per training step. Default 32, or 16 for fewer than 2,000 rows; not used for models trained on few rows.',
    }),
    learning_rate: absentable(z.number().positive().max(1)).meta({
      description: 'The peak learning rate. The default depends on the size or backbone.',
    }),
    num_epochs: absentable(z.int().min(1).max(1000)).meta({
      description:
        'Maximum number of epochs; training stops early without progress. The default depends on the family and the number of rows.',
    }),
    language: absentable(z.string().min(1).max(40)).meta({
      description: 'The language of the texts: an English name, or a code such as en-GB. Default english.',
    }),
    data_augmentation: absentable(z.boolean()).meta({
      description: 'Whether to add edited copies of training rows. Default false.',
    }),
    use_pretrained: absentable(z.boolean()).meta({
      description: 'Whether to start from a backbone; if there is none, the job warns. Default true.',
    }),
    preprocessing: absentable(preprocessingSchema).meta({
      description: 'The same as in model_config; give it in one of the two places.',
    }),
  } satisfies FieldsOf<TrainingConfig>),
);

/** What `createTrainingJob` takes (docs/service-jobs.md, "The training request"). */
export interface TrainingRequest {
  /**
   * An http or https URL of a dataset zip that needs no key, user name or password. In the library also a `file:` URL of a
   * zip or an unpacked folder.
   */
  readonly dataset_url: string;
  /** The model to train. */
  readonly model_config: ModelConfig;
  /** How to train it. Default: `{}`. */
  readonly training_config?: TrainingConfig | undefined;
}

/** Longer than the URLs that servers take. */
const MAX_URL_LENGTH = 8192;

const datasetUrlSchema = z.lazy(() =>
  z
    .string()
    .min(1, 'dataset_url is empty; give the URL of a dataset zip')
    .max(
      MAX_URL_LENGTH,
      `the URL is longer than ${MAX_URL_LENGTH.toLocaleString('en-US')} characters; give a shorter one`,
    )
    .refine(
      (url) => !holdsCredentials(url),
      'the URL contains a user name or password, which the job would store; give a URL without them',
    )
    .meta({
      format: 'uri',
      description: 'The URL of the zip. It must work without a key, user name or password.',
    }),
);

export const trainingRequestSchema: z.ZodType<TrainingRequest> = z.lazy(() =>
  z
    .strictObject({
      dataset_url: datasetUrlSchema,
      model_config: trainableModelSchema,
      training_config: absentable(trainingConfigSchema).meta({ description: 'How to train it. Default {}.' }),
    } satisfies FieldsOf<TrainingRequest>)
    .superRefine(({ model_config, training_config }, context) => {
      const here = model_config.preprocessing?.lowercase;
      const there = training_config?.preprocessing?.lowercase;
      if (here === undefined || there === undefined || here === there) return;
      context.addIssue({
        code: 'custom',
        path: ['training_config', 'preprocessing', 'lowercase'],
        message: `\`preprocessing.lowercase\` is ${there} here and ${here} in model_config; give it once`,
      });
    }),
);

/** Also for invalid URLs, since error messages quote them. */
function holdsCredentials(url: string): boolean {
  if (!URL.canParse(url)) return /^[^?#]*:[^?#]*@/.test(url);
  const { username, password } = new URL(url);
  return username !== '' || password !== '';
}

/** The model record and the job information (docs/service-jobs.md). */

/** ISO 8601 with a numeric offset: `2026-11-20T08:15:30.123+00:00`. */
const timestampSchema = z.lazy(() =>
  z.iso
    .datetime({ offset: true })
    .meta({ description: 'ISO 8601 with an offset.', example: '2026-11-20T08:15:30.123+00:00' }),
);

/** A custom model (docs/service-jobs.md, "Model record"). */
export interface ModelRecord {
  /** A UUID that identifies the model and the job that trains it. */
  readonly id: string;
  /** The account that owns it. */
  readonly app_id: string;
  /** As in the request. Names need not be unique. */
  readonly name: string;
  /** READY once it can answer, DELETED once its files are removed. */
  readonly training_status: TrainingJobStatus;
  /** As in the request. */
  readonly type: ModelType;
  /** The same for every model. */
  readonly modality: 'language';
  /** When the job was created: ISO 8601 with milliseconds and an offset, `2026-11-20T08:15:30.123+00:00`. */
  readonly created: string;
}

export const modelRecordSchema: z.ZodType<ModelRecord> = z.lazy(() =>
  z.strictObject({
    id: z.string(),
    app_id: z.string(),
    name: z.string(),
    training_status: trainingJobStatusSchema,
    type: modelTypeSchema,
    modality: z.literal('language'),
    created: timestampSchema,
  } satisfies FieldsOf<ModelRecord>),
);

/** The share of questions, 0 to 1, whose passage is among the first 1, 3, 5, 10, 20 and 100. */
export type Topk = Readonly<Record<1 | 3 | 5 | 10 | 20 | 100, number>>;

export const topkSchema: z.ZodType<Topk> = z.lazy(() =>
  z
    .strictObject({
      1: z.number(),
      3: z.number(),
      5: z.number(),
      10: z.number(),
      20: z.number(),
      100: z.number(),
    } satisfies FieldsOf<Topk>)
    .meta({
      description: 'The share of questions whose passage is among the first 1, 3, 5, 10, 20 and 100; 0 to 1.',
    }),
);

/** The metrics on the dev set, one entry per epoch; which ones depends on the family. */
export interface ValidationMetrics {
  /** Classification: the share of correct rows, 0 to 1. A multilabel row is correct if all its labels are. */
  readonly accuracy?: readonly number[] | undefined;
  /**
   * F1, 0 to 1. Binary classification: of the second label or, in `train`, of the label `positive`. Other
   * classification: the mean over the labels. Entities: of whole entities.
   */
  readonly f1?: readonly number[] | undefined;
  /** Questions: the share whose passage is among the first 1, 3, 5, 10, 20 and 100. */
  readonly topk?: readonly Topk[] | undefined;
}

/** The time and metrics of a job, one entry per epoch. */
export interface TrainingMetrics {
  /** Seconds. */
  readonly elapsed_time: readonly number[];
  /** On the training rows. */
  readonly training: {
    /** The mean over each epoch. */
    readonly loss: readonly number[];
  };
  /** On the dev rows. */
  readonly validation: ValidationMetrics;
}

/** Figures of a job (docs/service-jobs.md, "Job information"). */
export interface TrainingStats {
  /** Rows per step. Before the training: the number in the request, or 0 if it has none. */
  readonly batch_size: number;
  /** The metric that decides which epoch is kept. Absent before the first epoch has ended, and for question answering. */
  readonly main_eval_metric?: 'accuracy' | 'f1' | undefined;
  /** Its highest value so far in `metrics.validation`, 0 to 1. */
  readonly best_eval_metric_value?: number | undefined;
  /** Epochs completed. */
  readonly epoch: number;
  /** Epoch by epoch. */
  readonly metrics: TrainingMetrics;
}

export const trainingStatsSchema: z.ZodType<TrainingStats> = z.lazy(() =>
  z.strictObject({
    batch_size: z.int(),
    main_eval_metric: z.enum(['accuracy', 'f1']).optional(),
    best_eval_metric_value: z.number().optional(),
    epoch: z.int().meta({ description: 'Epochs completed.' }),
    metrics: z.strictObject({
      elapsed_time: z.array(z.number()).meta({ description: 'The time of each epoch, in seconds.' }),
      training: z.strictObject({
        loss: z.array(z.number()).meta({ description: 'The mean training loss of each epoch.' }),
      }),
      validation: z.strictObject({
        accuracy: z.array(z.number()).optional(),
        f1: z.array(z.number()).optional(),
        topk: z.array(topkSchema).optional(),
      } satisfies FieldsOf<ValidationMetrics>),
    } satisfies FieldsOf<TrainingMetrics>),
  } satisfies FieldsOf<TrainingStats>),
);

/** The state of a training job (docs/service-jobs.md, "Job information"). */
export interface TrainingJobInformation {
  /** The model that the job trains; it has the job's id. */
  readonly model: ModelRecord;
  /** The metrics so far. */
  readonly training_stats: TrainingStats;
  /** As in the model record. */
  readonly status: TrainingJobStatus;
  /** As in the model record. */
  readonly created: string;
}

export const trainingJobInformationSchema = z.strictObject({
  model: modelRecordSchema,
  training_stats: trainingStatsSchema,
  status: trainingJobStatusSchema,
  created: timestampSchema,
} satisfies FieldsOf<TrainingJobInformation>);

/** Lists of jobs or models: filters and pages (docs/service-jobs.md, "Lists"). */

/** The position of a page in its list. */
export interface Pagination {
  /** Maximum number of items on this page. */
  readonly limit: number;
  /** Whether another page follows. */
  readonly has_more: boolean;
  /** The filter's `cursor` for the next page; null on the last page. */
  readonly next_cursor: string | null;
}

export const paginationSchema: z.ZodType<Pagination> = z.lazy(() =>
  z.strictObject({
    limit: z.int().meta({ description: 'Maximum number of items on this page.' }),
    has_more: z.boolean(),
    next_cursor: z.string().nullable().meta({ description: 'The cursor of the next page; null on the last page.' }),
  } satisfies FieldsOf<Pagination>),
);

/** One page of a list, newest first. */
export interface Page<Item> {
  /** At most `pagination.limit`. */
  readonly data: readonly Item[];
  readonly pagination: Pagination;
}

/** Which jobs or models to list. */
export interface ListFilter {
  /** Default: all. `named-entity-recognition` and `sequence-labeling` are the same task; either finds both. */
  readonly modelType?: ModelType | undefined;
  /** Default: all but DELETED. */
  readonly trainingStatus?: TrainingJobStatus | undefined;
  /** Maximum number of items on a page, 1 to 100. Default 20. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of the previous page. Default: the first page. */
  readonly cursor?: string | undefined;
}

export const listFilterSchema = z.strictObject({
  modelType: modelTypeSchema.optional().meta({
    description: 'named-entity-recognition and sequence-labeling are the same task; either finds both.',
  }),
  trainingStatus: trainingJobStatusSchema
    .optional()
    .meta({ description: 'By default, all except DELETED ones are listed.' }),
  limit: z.int().min(1).max(100).optional().meta({ description: 'Maximum number of items on a page; 20 by default.' }),
  cursor: z
    .uuid('not a cursor of this list; pass the next_cursor of the previous page unchanged')
    .optional()
    .meta({ description: 'The next_cursor of the previous page.' }),
} satisfies FieldsOf<ListFilter>);
