/** The service's enumerations (docs/service.md, "Enumerations"). */
import * as z from 'zod';

/** Any other string, in types that list the known ones for completion. */
type Other = string & Record<never, never>;

/** Types of the models that come along. Families from elsewhere bring others. */
export const documentedModelTypes = [
  'binary-text-classification',
  'multiclass-text-classification',
  'multilabel-text-classification',
  'named-entity-recognition',
  'sequence-labeling',
  'question-answering',
] as const;
/**
 * What a model does; one of those that come along, or of a family from elsewhere. `named-entity-recognition` and
 * `sequence-labeling` name the same task.
 */
export type ModelType = (typeof documentedModelTypes)[number] | Other;
/** Of a model that there is already: any type, whether or not its family is known here. */
export const modelTypeSchema: z.ZodType<ModelType> = z.string().meta({ enum: [...documentedModelTypes] });

export const documentedFamilyNames = ['Papaya', 'Grapefruit', 'Dragonfruit'] as const;
/**
 * Papaya classifies text, Grapefruit labels sequences, Dragonfruit answers questions with passages. Others are families
 * from elsewhere.
 */
export type FamilyName = (typeof documentedFamilyNames)[number] | Other;
/** Of a model that there is already. */
export const familyNameSchema: z.ZodType<FamilyName> = z.string().meta({ enum: [...documentedFamilyNames] });

/** A type of model that can be trained here, and the family that trains it. */
export interface TrainableType {
  readonly type: ModelType;
  readonly family: FamilyName;
}

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
/** Where a training job stands; the transitions are in jobs/job-states.ts. */
export type TrainingJobStatus = z.infer<typeof trainingJobStatusSchema>;
