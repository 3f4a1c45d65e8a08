import * as z from 'zod';
import { documentedModelTypes, familyNames, modelSizes, trainingJobStatuses } from './enumerations.js';

export const modelTypeSchema = z.enum(documentedModelTypes);

export const familyNameSchema = z.enum(familyNames);

export const modelSizeSchema = z.enum(modelSizes);

export const trainingJobStatusSchema = z.enum(trainingJobStatuses);
