export { adamW } from './adamw-optimizer.js';
export {
  type Adapters,
  type AdapterTarget,
  adaptedWeights,
  adapterParameters,
  mergedWeight,
  withAdapters,
} from './adapters.js';
export type { BatchGradients } from './batch-gradients.js';
export { calibrate } from './calibrate.js';
export {
  type Checkpoint,
  checkpointTensors,
  readCheckpoint,
  restoreParameters,
  saveCheckpoint,
} from './checkpoint.js';
export { createEngine } from './create-engine.js';
export type { Engine, EngineOptions, MaskState } from './engine.js';
export { Evaluator } from './evaluator.js';
export { fitLinear, type LinearFit, type LinearProblem } from './fit-linear.js';
export { fitLinearEnd } from './fit-linear-end.js';
export { type FrozenWeights, isFrozen } from './frozen-weights.js';
export { GradientEngine } from './gradient-engine.js';
export * from './head.js';
export type {
  LearnedParameters,
  ParameterDefinition,
  ParameterState,
  Weights,
} from './learned-parameters.js';
export { Learner, type LearnerState } from './learner.js';
export { linearLearningRate } from './learning-rate-schedule.js';
export type {
  Optimizer,
  OptimizerKind,
  StepOptions,
  UpdatedParameter,
  UpdateRule,
  UpdateStep,
} from './optimizer.js';
export { feedsFor, type PaddedBatch, padBatch } from './padded-batch.js';
export { PairGradients } from './pair-gradients.js';
export { ParameterStore } from './parameter-store.js';
export { withSurrogateLoss } from './surrogate-loss.js';
export { createTaskLearner, type TaskLearner } from './task-learner.js';
export { dropTokens } from './token-dropout.js';
export { buildEvaluationGraph, LOGITS } from './training-graph.js';
