/** The documented enumerations (spec, "Enumerations" and "Model configuration"). */
import * as z from 'zod';

/** Model types as a job is created with. */
export const modelTypes = [
  'binary-text-classification',
  'multiclass-text-classification',
  'multilabel-text-classification',
  'named-entity-recognition',
  'sequence-labeling',
  'question-answering',
] as const;
export const modelTypeSchema = z.enum(modelTypes);
/** What a model does. `named-entity-recognition` and `sequence-labeling` name the same task. */
export type ModelType = z.infer<typeof modelTypeSchema>;

export const familyNames = ['Papaya', 'Grapefruit', 'Dragonfruit'] as const;
export const familyNameSchema = z.enum(familyNames);
/** Papaya classifies text, Grapefruit labels sequences, Dragonfruit answers questions with passages. */
export type FamilyName = z.infer<typeof familyNameSchema>;

export const modelSizes = ['mini', 'base'] as const;
export const modelSizeSchema = z.enum(modelSizes);
/** mini: 4 layers × 256 (4 heads). base: 6 layers × 384 (6 heads). */
export type ModelSize = z.infer<typeof modelSizeSchema>;

export const trainingJobStatuses = [
  'CREATED',
  'QUEUED',
  'RUNNING',
  'READY',
  'CANCELLED',
  'DELETED',
  'ERROR',
] as const;
export const trainingJobStatusSchema = z.enum(trainingJobStatuses);
/** Where a training job stands; the transitions are in trainer/job-states.ts. */
export type TrainingJobStatus = z.infer<typeof trainingJobStatusSchema>;

/** Which family trains which type of model. */
export const familyOfType: Readonly<Record<ModelType, FamilyName>> = {
  'binary-text-classification': 'Papaya',
  'multiclass-text-classification': 'Papaya',
  'multilabel-text-classification': 'Papaya',
  'named-entity-recognition': 'Grapefruit',
  'sequence-labeling': 'Grapefruit',
  'question-answering': 'Dragonfruit',
};
