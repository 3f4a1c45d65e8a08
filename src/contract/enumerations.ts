/** The service's enumerations (docs/service.md, "Enumerations"). */

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
export type ModelType = (typeof documentedModelTypes)[number] | (string & Record<never, never>);

/**
 * Papaya classifies text, Grapefruit labels sequences, Dragonfruit answers questions with passages. Others are families
 * from elsewhere.
 */
export type FamilyName = 'Papaya' | 'Grapefruit' | 'Dragonfruit' | (string & Record<never, never>);

/** A type of model that can be trained here, and the family that trains it. */
export interface TrainableType {
  readonly type: ModelType;
  readonly family: FamilyName;
}

/** The sizes that a model may have. */
export const modelSizes = ['mini', 'base'] as const;
/** mini: 4 layers × 256 (4 heads). base: 6 layers × 384 (6 heads). */
export type ModelSize = (typeof modelSizes)[number];

/** The states that a training job may be in. */
export const trainingJobStatuses = [
  'CREATED',
  'QUEUED',
  'RUNNING',
  'READY',
  'CANCELLED',
  'DELETED',
  'ERROR',
] as const;
/** Where a training job stands; docs/service.md, "States of a job", has the transitions. */
export type TrainingJobStatus = (typeof trainingJobStatuses)[number];
