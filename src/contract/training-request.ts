/** The documented training job request, with every rule on its fields (spec, "Model configuration"). */
import * as z from 'zod';
import { familyNameSchema, familyOfType, modelSizeSchema, modelTypeSchema } from './enumerations.js';

/** Spec: "Under 25 characters, lowercase, no custom symbols". */
export const MAX_MODEL_NAME_LENGTH = 24;

/** The batch size of a request that names none; a run on few rows may choose a smaller one, and reports it. */
export const DEFAULT_BATCH_SIZE = 32;

const preprocessingSchema = z.strictObject({
  lowercase: z
    .boolean()
    .optional()
    .meta({ description: 'Fold to lower case; false for case-sensitive tasks.' }),
});

export const modelConfigSchema = z
  .strictObject({
    name: z
      .string()
      .min(1, 'the model name is empty; give 1 to 24 of a–z, 0–9 and "-"')
      .max(MAX_MODEL_NAME_LENGTH, `the model name is longer than ${MAX_MODEL_NAME_LENGTH} characters`)
      .regex(/^[a-z0-9-]*$/, 'the model name may hold only a–z, 0–9 and "-"'),
    type: modelTypeSchema,
    family: familyNameSchema,
    size: modelSizeSchema,
    preprocessing: preprocessingSchema.optional(),
  })
  .superRefine(({ type, family }, context) => {
    if (familyOfType[type] === family) return;
    context.addIssue({
      code: 'custom',
      path: ['family'],
      message: `a ${type} model is of family ${familyOfType[type]}, not ${family}`,
    });
  });

export const trainingConfigSchema = z.strictObject({
  batch_size: z.int().min(1).max(1024).optional(),
  learning_rate: z.number().positive().max(1).optional(),
  num_epochs: z.int().min(1).max(1000).optional(),
  language: z.string().min(1).max(40).optional(),
  data_augmentation: z.boolean().optional(),
  use_pretrained: z.boolean().optional(),
  preprocessing: preprocessingSchema.optional(),
});

export const trainingRequestSchema = z
  .strictObject({
    dataset_url: z
      .string()
      .min(1, 'dataset_url is empty; give the URL of a dataset zip')
      .meta({ format: 'uri', description: 'Where the zip is downloaded from, without a key.' }),
    model_config: modelConfigSchema,
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

export type ModelConfig = z.infer<typeof modelConfigSchema>;
export type TrainingConfig = z.infer<typeof trainingConfigSchema>;
/** What `createTrainingJob` takes. */
export type TrainingRequest = z.infer<typeof trainingRequestSchema>;
