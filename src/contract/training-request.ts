/** The training request, with every rule on its fields (docs/service.md, "The training request"). */
import * as z from 'zod';
import { familyNameSchema, modelSizeSchema, modelTypeSchema } from './enumeration-schemas.js';
import { type FamilyName, familyNameOf, type ModelSize, type ModelType } from './enumerations.js';
import type { FieldsOf } from './fields.js';

/** A model name has fewer than 25 characters (docs/service.md, "Limits"). */
export const MAX_MODEL_NAME_LENGTH = 24;

/** The batch size of a request that names none; a run on few rows may choose a smaller one, and reports it. */
export const DEFAULT_BATCH_SIZE = 32;

/** What becomes of a text before it is read. */
export interface Preprocessing {
  /** Fold to lower case; false for tasks that tell upper from lower. Default true, or as the backbone reads. */
  readonly lowercase?: boolean | undefined;
}

const preprocessingSchema = z.strictObject({
  lowercase: z
    .boolean()
    .optional()
    .meta({ description: 'Fold to lower case; false for case-sensitive tasks.' }),
} satisfies FieldsOf<Preprocessing>);

/** The model that a request asks for (docs/service.md, "The training request"). */
export interface ModelConfig {
  /** 1 to 24 characters of a–z, 0–9 and `-`. Several models of an account may share one. */
  readonly name: string;
  /** What the model is to do. */
  readonly type: ModelType;
  /** The family of that type. */
  readonly family: FamilyName;
  /** The geometry of a model that starts from random weights; a backbone has its own. */
  readonly size: ModelSize;
  /** Default: as the backbone reads, else `{ lowercase: true }`. */
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

/** Of a model to be trained: its family is that of its type. */
export const trainableModelSchema = modelConfigSchema.superRefine(({ type, family }, context) => {
  const right = familyNameOf[type];
  if (right === family) return;
  const message = `a ${type} model is of family ${right}, not ${family}`;
  context.addIssue({ code: 'custom', path: ['family'], message });
});

/** How to train (docs/service.md, "The training request"); docs/training.md says where the defaults come from. */
export interface TrainingConfig {
  /** Rows in each step, 1 to 1,024. Default 32, or 16 below 2,000 rows. */
  readonly batch_size?: number | undefined;
  /** The highest rate of the run, above 0 and at most 1. Default: by size or backbone. */
  readonly learning_rate?: number | undefined;
  /** The most epochs, 1 to 1,000; fewer are run where nothing gets better. Default: by family and number of rows. */
  readonly num_epochs?: number | undefined;
  /** An English name or a code such as `en-GB`, 1 to 40 characters. Default `english`. */
  readonly language?: string | undefined;
  /** Add edited copies of training rows. Default false. */
  readonly data_augmentation?: boolean | undefined;
  /** Start from a backbone; where there is none, the job warns. Default true. */
  readonly use_pretrained?: boolean | undefined;
  /** The same as in `model_config`; give it in one of the two. */
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
   * An http or https URL of a dataset zip that downloads without a key, user name or password; in the library also a
   * `file:` URL of a zip or of the unpacked folder.
   */
  readonly dataset_url: string;
  /** The model to make. */
  readonly model_config: ModelConfig;
  /** How to train it. Default: `{}`. */
  readonly training_config?: TrainingConfig | undefined;
}

const datasetUrlSchema = z
  .string()
  .min(1, 'dataset_url is empty; give the URL of a dataset zip')
  .refine(
    (url) => !holdsCredentials(url),
    'the URL holds a user name or password, which the job would keep; give one that opens without',
  )
  .meta({
    format: 'uri',
    description: 'Where the zip is downloaded from, without a key, user name or password.',
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

/** Also in what is no URL, since messages about that quote it. */
function holdsCredentials(url: string): boolean {
  if (!URL.canParse(url)) return /^[^/?#@]*:[/\\]*[^/?#\\]*@/.test(url);
  const { username, password } = new URL(url);
  return username !== '' || password !== '';
}
