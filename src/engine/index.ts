export { stepAdamW } from './adamw.js';
export {
  type Adapters,
  type AdapterTarget,
  adaptedWeights,
  adapterParameters,
  mergedWeight,
  withAdapters,
} from './adapters.js';
export { type BatchGradients, PairGradients, withSurrogateLoss } from './batch-gradients.js';
export { dropTokens, feedsFor, lengthBatches, type PaddedBatch, padBatch } from './batches.js';
export { DeviceEngine } from './device-engine.js';
export { calibrate, Evaluator } from './evaluator.js';
export {
  fitLinear,
  fitLinearEnd,
  type LinearFit,
  type LinearProblem,
  LinearSolver,
  minimize,
  statesOf,
  withoutEnd,
} from './fit-linear.js';
export { GeneratedDropout } from './generated-dropout.js';
export { GradientEngine } from './gradient-engine.js';
export type {
  LinearEnd,
  LossHead,
  LossTargets,
  PairExamples,
  PairHead,
  PairLoss,
  RowHead,
  TargetOptions,
  TaskHead,
  TrainingHead,
} from './head.js';
export {
  type AnswerKernels,
  DOT_STEP,
  type HashSlots,
  type IdBags,
  loadAnswerKernels,
  provideKernels,
} from './kernels/answer-kernels.js';
export { Arena } from './kernels/arena.js';
export { type ForwardKernels, loadForwardKernels } from './kernels/forward-kernels.js';
export {
  type AdaGradArrays,
  type DropoutState,
  type Kernels,
  loadKernels,
  quantizeDropoutRate,
  type SvmProblem,
} from './kernels/kernels.js';
export { createTaskLearner, Learner, type LearnerState, linearLearningRate, type TaskLearner } from './learner.js';
export {
  type Checkpoint,
  checkpointTensors,
  type FrozenWeights,
  isFrozen,
  type ParameterDefinition,
  ParameterStore,
  readCheckpoint,
  restoreParameters,
  saveCheckpoint,
  type Weights,
} from './parameters.js';
export { buildEvaluationGraph, buildTrainingGraph, LOGITS, LOSS } from './training-graph.js';
