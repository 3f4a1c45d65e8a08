export {
  type BatchPredictionResult,
  type ExplanationResult,
  type PredictionResult,
  Predictor,
} from './predictor.js';
export type { PredictorOptions } from './predictor-options.js';
