import * as z from 'zod';
import {
  documentedModelTypes,
  type FamilyName,
  type ModelType,
  modelSizes,
  trainingJobStatuses,
} from './enumerations.js';

/** Of a model that there is already: any type, whether or not its family is known here. */
export const modelTypeSchema: z.ZodType<ModelType> = z.string().meta({ enum: [...documentedModelTypes] });

/** Of a model that there is already. */
export const familyNameSchema: z.ZodType<FamilyName> = z
  .string()
  .meta({ enum: ['Papaya', 'Grapefruit', 'Dragonfruit'] });

export const modelSizeSchema = z.enum(modelSizes);

export const trainingJobStatusSchema = z.enum(trainingJobStatuses);
