/** The training request, with every rule on its fields (docs/service.md, "The training request"). */
import * as z from 'zod';
import {
  type FamilyName,
  familyNameSchema,
  type ModelType,
  modelSizeSchema,
  modelTypeSchema,
  type TrainableType,
} from './enumerations.js';

/** A model name has fewer than 25 characters (docs/service.md, "Limits"). */
export const MAX_MODEL_NAME_LENGTH = 24;

/** The batch size of a request that names none; a run on few rows may choose a smaller one, and reports it. */
export const DEFAULT_BATCH_SIZE = 32;

const preprocessingSchema = z.strictObject({
  lowercase: z
    .boolean()
    .optional()
    .meta({ description: 'Fold to lower case; false for case-sensitive tasks.' }),
});

const modelFields = {
  name: z
    .string()
    .min(1, 'the model name is empty; give 1 to 24 of a–z, 0–9 and "-"')
    .max(MAX_MODEL_NAME_LENGTH, `the model name is longer than ${MAX_MODEL_NAME_LENGTH} characters`)
    .regex(/^[a-z0-9-]*$/, 'the model name may hold only a–z, 0–9 and "-"'),
  type: modelTypeSchema,
  family: familyNameSchema,
  size: modelSizeSchema,
  preprocessing: preprocessingSchema.optional(),
};

/** Of a model that there is already, whose type and family may be unknown here. */
export const modelConfigSchema = z.strictObject(modelFields);
export type ModelConfig = z.infer<typeof modelConfigSchema>;

/** Of a model to be trained: its type is one of these, and its family the one of the type. */
export function trainableModelSchema(types: readonly TrainableType[]) {
  const type: z.ZodType<ModelType> = z.enum(types.map((each) => each.type));
  const family: z.ZodType<FamilyName> = z.enum([...new Set(types.map((each) => each.family))]);
  return z.strictObject({ ...modelFields, type, family }).superRefine((model, context) => {
    const right = types.find((each) => each.type === model.type)?.family;
    if (right === model.family) return;
    const message = `a ${model.type} model is of family ${right}, not ${model.family}`;
    context.addIssue({ code: 'custom', path: ['family'], message });
  });
}

export const trainingConfigSchema = z.strictObject({
  batch_size: z.int().min(1).max(1024).optional(),
  learning_rate: z.number().positive().max(1).optional(),
  num_epochs: z.int().min(1).max(1000).optional(),
  language: z.string().min(1).max(40).optional(),
  data_augmentation: z.boolean().optional(),
  use_pretrained: z.boolean().optional(),
  preprocessing: preprocessingSchema.optional(),
});

export type TrainingConfig = z.infer<typeof trainingConfigSchema>;

/** @param types that can be trained; `modelTypes()` of families/ has them. */
export function trainingRequestSchema(types: readonly TrainableType[]) {
  return z
    .strictObject({
      dataset_url: datasetUrlSchema,
      model_config: trainableModelSchema(types),
      training_config: trainingConfigSchema.optional(),
    })
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
}
/** What `createTrainingJob` takes. */
export type TrainingRequest = z.infer<ReturnType<typeof trainingRequestSchema>>;

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

/** Also in what is no URL, since messages about that quote it. */
function holdsCredentials(url: string): boolean {
  if (!URL.canParse(url)) return /^[^/?#@]*:[/\\]*[^/?#\\]*@/.test(url);
  const { username, password } = new URL(url);
  return username !== '' || password !== '';
}
