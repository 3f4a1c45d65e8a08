import type { ResultAsync } from 'neverthrow';
import type { Account } from '../contract/index.js';
import type { OrchardError } from '../errors.js';
import type { Medley } from '../medley/index.js';
import type { Predictor } from '../predictor/index.js';
import type { Trainer } from '../trainer/index.js';
import type { PageServices } from './page-services.js';

export type TrainerService = Pick<
  Trainer,
  | 'createTrainingJob'
  | 'getTrainingJob'
  | 'listTrainingJobs'
  | 'cancelTrainingJob'
  | 'getModel'
  | 'listModels'
  | 'deleteModel'
  | 'watch'
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
  /** What only the page at / needs. Without it there is no page. */
  readonly page?: PageServices | undefined;
}

/** What a call of theirs comes to. @throws the error that it fails with */
export async function outcomeOf<Value>(call: ResultAsync<Value, OrchardError>): Promise<Value> {
  const outcome = await call;
  if (outcome.isErr()) throw outcome.error;
  return outcome.value;
}
