/** The service's enumerations (docs/service.md, "Enumerations"). */

/** Everything that a model can be trained to do. */
export const modelTypes = [
  'binary-text-classification',
  'multiclass-text-classification',
  'multilabel-text-classification',
  'named-entity-recognition',
  'sequence-labeling',
  'question-answering',
] as const;
/** What a model does. `named-entity-recognition` and `sequence-labeling` name the same task. */
export type ModelType = (typeof modelTypes)[number];

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
export const trainingJobStatuses = ['CREATED', 'QUEUED', 'RUNNING', 'READY', 'CANCELLED', 'DELETED', 'ERROR'] as const;
/** Where a training job stands; docs/service.md, "States of a job", has the transitions. */
export type TrainingJobStatus = (typeof trainingJobStatuses)[number];

/** Names of where models can be computed. Beside the rooms, so that checking an option loads nothing that computes. */

/**
 * Where ONNX Runtime can compute: `cpu`; `webgpu`, any GPU by Vulkan, Metal or Direct3D 12; `cuda`, `coreml` and `dml`
 * where the installed runtime has them.
 */
export type ExecutionProvider = 'cpu' | 'webgpu' | 'cuda' | 'coreml' | 'dml';
export const EXECUTION_PROVIDERS = [
  'cpu',
  'webgpu',
  'cuda',
  'coreml',
  'dml',
] as const satisfies readonly ExecutionProvider[];

/** The option `device`: a place by name, or `auto`, which measures. */
export type Device = 'auto' | ExecutionProvider;
export const DEVICES = ['auto', ...EXECUTION_PROVIDERS] as const satisfies readonly Device[];

/** Whether a model may be used commercially, as far as its training data decide. */
export interface UsageTerms {
  /** False if some of the data are for non-commercial use, or have no licence. */
  readonly commercial_use: boolean;
  /** The data that rule it out, with the reason. */
  readonly reasons: readonly string[];
  /** What to use instead. */
  readonly alternative?: string;
}
