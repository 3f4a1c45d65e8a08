import * as z from 'zod';
import { familyNameSchema, modelSizeSchema, modelTypeSchema } from './enumeration-schemas.js';
import { type FamilyName, familyNameOf, type ModelSize, type ModelType } from './enumerations.js';
import type { FieldsOf } from './validate.js';

/** The training request, with every rule on its fields (docs/service.md, "The training request"). */

/** Maximum length of a model name (docs/service.md, "Limits"). */
export const MAX_MODEL_NAME_LENGTH = 24;
/** Maximum length of an idempotency key, in UTF-16 code units. Requests with the same key create one job. */
export const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

/** The default batch size. A training on few rows may choose a smaller one, and reports it. */
export const DEFAULT_BATCH_SIZE = 32;

/** How texts are changed before they are read. */
export interface Preprocessing {
  /** Whether to convert to lower case; false for case-sensitive tasks. Default true, or what the backbone expects. */
  readonly lowercase?: boolean | undefined;
}

const preprocessingSchema = z.strictObject({
  lowercase: z
    .boolean()
    .optional()
    .meta({ description: 'Whether to convert to lower case; false for case-sensitive tasks.' }),
} satisfies FieldsOf<Preprocessing>);

/** The model that a request asks for (docs/service.md, "The training request"). */
export interface ModelConfig {
  /** 1 to 24 characters of a–z, 0–9 and `-`. Names need not be unique. */
  readonly name: string;
  /** The task of the model. */
  readonly type: ModelType;
  /** The family of that type. */
  readonly family: FamilyName;
  /** The size of a model that starts from random weights; a backbone has its own size. */
  readonly size: ModelSize;
  /** Default: what the backbone expects, else `{ lowercase: true }`. */
  readonly preprocessing?: Preprocessing | undefined;
}

export const modelConfigSchema: z.ZodType<ModelConfig> = z.strictObject({
  name: z
    .string()
    .min(1, 'the model name is empty; give 1 to 24 of a–z, 0–9 and "-"')
    .max(MAX_MODEL_NAME_LENGTH, `the model name is longer than ${MAX_MODEL_NAME_LENGTH} characters`)
    .regex(/^[a-z0-9-]*$/, 'the model name may hold only a–z, 0–9 and "-"'),
  type: modelTypeSchema,
  family: familyNameSchema,
  size: modelSizeSchema,
  preprocessing: preprocessingSchema.optional(),
} satisfies FieldsOf<ModelConfig>);

/** For a model to train: its family is the family of its type. */
export const trainableModelSchema = modelConfigSchema.superRefine(({ type, family }, context) => {
  const right = familyNameOf[type];
  if (right === family) return;
  const message = `a ${type} model is of family ${right}, not ${family}`;
  context.addIssue({ code: 'custom', path: ['family'], message });
});

/** How to train (docs/service.md, "The training request"); docs/training.md says where the defaults come from. */
export interface TrainingConfig {
  /** Rows per step, 1 to 1,024. Default 32, or 16 below 2,000 rows. */
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

export const trainingConfigSchema: z.ZodType<TrainingConfig> = z.strictObject({
  batch_size: z.int().min(1).max(1024).optional(),
  learning_rate: z.number().positive().max(1).optional(),
  num_epochs: z.int().min(1).max(1000).optional(),
  language: z.string().min(1).max(40).optional(),
  data_augmentation: z.boolean().optional(),
  use_pretrained: z.boolean().optional(),
  preprocessing: preprocessingSchema.optional(),
} satisfies FieldsOf<TrainingConfig>);

/** What `createTrainingJob` takes (docs/service.md, "The training request"). */
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

const datasetUrlSchema = z
  .string()
  .min(1, 'dataset_url is empty; give the URL of a dataset zip')
  .refine(
    (url) => !holdsCredentials(url),
    'the URL contains a user name or password, which the job would store; give a URL without them',
  )
  .meta({
    format: 'uri',
    description: 'The URL of the zip, which needs no key, user name or password.',
  });

export const trainingRequestSchema: z.ZodType<TrainingRequest> = z
  .strictObject({
    dataset_url: datasetUrlSchema,
    model_config: trainableModelSchema,
    training_config: trainingConfigSchema.optional(),
  } satisfies FieldsOf<TrainingRequest>)
  .superRefine(({ model_config, training_config }, context) => {
    const here = model_config.preprocessing?.lowercase;
    const there = training_config?.preprocessing?.lowercase;
    if (here === undefined || there === undefined || here === there) return;
    context.addIssue({
      code: 'custom',
      path: ['training_config', 'preprocessing', 'lowercase'],
      message: `preprocessing.lowercase is ${there} here and ${here} in model_config; give it once`,
    });
  });

/** Also for invalid URLs, since error messages quote them. */
function holdsCredentials(url: string): boolean {
  if (!URL.canParse(url)) return /^[^/?#@]*:[/\\]*[^/?#\\]*@/.test(url);
  const { username, password } = new URL(url);
  return username !== '' || password !== '';
}
