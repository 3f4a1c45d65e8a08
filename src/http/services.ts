import type { Account } from '../contract/index.js';
import type { Medley } from '../medley/index.js';
import type { Predictor } from '../predictor/index.js';
import type { Trainer } from '../trainer/index.js';

export type TrainerService = Pick<
  Trainer,
  | 'createTrainingJob'
  | 'getTrainingJob'
  | 'listTrainingJobs'
  | 'cancelTrainingJob'
  | 'getModel'
  | 'listModels'
  | 'deleteModel'
>;
export type PredictorService = Pick<
  Predictor,
  'predictPretrained' | 'predictPretrainedBatch' | 'predictCustom' | 'predictCustomBatch'
>;
export type MedleyService = Pick<Medley, 'predict' | 'predictBatch' | 'predictPretrainedBatch'>;

/** What answers, by account: each class is one account's view of the models. Asked at every request. */
export interface Services {
  readonly trainer: (account: Account) => TrainerService;
  readonly predictor: (account: Account) => PredictorService;
  readonly medley: (account: Account) => MedleyService;
}
