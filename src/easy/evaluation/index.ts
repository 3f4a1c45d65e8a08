export { type EvaluateOptions, evaluateModel } from './evaluate-model.js';
export type {
  AverageFigures,
  EntityEvaluation,
  Evaluation,
  Interval,
  LabelEvaluation,
  PassageEvaluation,
} from './evaluation.js';
