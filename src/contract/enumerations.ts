/** The service's enumerations (docs/service.md, "Enumerations"). */

/** Everything that a model can be trained to do. */
export const documentedModelTypes = [
  'binary-text-classification',
  'multiclass-text-classification',
  'multilabel-text-classification',
  'named-entity-recognition',
  'sequence-labeling',
  'question-answering',
] as const;
/** What a model does. `named-entity-recognition` and `sequence-labeling` name the same task. */
export type ModelType = (typeof documentedModelTypes)[number];

export const familyNames = ['Papaya', 'Grapefruit', 'Dragonfruit'] as const;
/** Papaya classifies text, Grapefruit labels sequences, Dragonfruit answers questions with passages. */
export type FamilyName = (typeof familyNames)[number];

/** The family of each type of model. */
export const familyNameOf: Readonly<Record<ModelType, FamilyName>> = {
  'binary-text-classification': 'Papaya',
  'multiclass-text-classification': 'Papaya',
  'multilabel-text-classification': 'Papaya',
  'named-entity-recognition': 'Grapefruit',
  'sequence-labeling': 'Grapefruit',
  'question-answering': 'Dragonfruit',
};

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
