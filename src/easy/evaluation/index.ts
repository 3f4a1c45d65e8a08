export { answersTo, type EvaluateOptions, evaluateModel } from './evaluate-model.js';
export type {
  AverageFigures,
  EntityEvaluation,
  Evaluation,
  Interval,
  LabelEvaluation,
  PassageEvaluation,
} from './evaluation.js';
export { type Example, examplesFor, type JudgedModel } from './examples.js';
export { judge } from './judge.js';
