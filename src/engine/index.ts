export { type AdamWOptions, adamW } from './adamw-optimizer.js';
export {
  type BatchGradients,
  type GradientInput,
  type LearningOptions,
  longestOf,
} from './batch-gradients.js';
export { calibrate } from './calibrate.js';
export {
  type Checkpoint,
  type CheckpointContent,
  checkpointTensors,
  readCheckpoint,
  restoreParameters,
  saveCheckpoint,
} from './checkpoint.js';
export { Evaluator } from './evaluator.js';
export { type EngineOptions, GradientEngine } from './gradient-engine.js';
export * from './head.js';
export { type LearnedStep, Learner, type LearnerOptions, type LearnerState } from './learner.js';
export { type LinearSchedule, linearLearningRate } from './learning-rate-schedule.js';
export type { Optimizer, OptimizerKind, StepOptions } from './optimizer.js';
export { feedsFor, type PaddedBatch, padBatch } from './padded-batch.js';
export { PairGradients } from './pair-gradients.js';
export { type Parameter, type ParameterDefinition, ParameterStore, type Weights } from './parameter-store.js';
export { RowGradients } from './row-gradients.js';
export { withSurrogateLoss } from './surrogate-loss.js';
export { createTaskLearner, type LearningTask, type TaskLearner } from './task-learner.js';
export { dropTokens } from './token-dropout.js';
export { buildEvaluationGraph, LOGITS } from './training-graph.js';
