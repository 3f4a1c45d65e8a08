import { err, ok, type Result } from 'neverthrow';
import { type Account, type TrainingRequest, trainingRequestSchema, validate } from '../contract/index.js';
import { TierError, ValidationError } from '../errors.js';

export interface RequestRules {
  readonly account: Account;
  readonly allowFileUrls: boolean;
}

/** Checks everything about a request that can be known before the dataset is fetched. */
export function checkTrainingRequest(
  input: TrainingRequest,
  { account, allowFileUrls }: RequestRules,
): Result<TrainingRequest, ValidationError | TierError> {
  return validate(trainingRequestSchema, input)
    .andThen((request) => checkDatasetUrl(request, allowFileUrls))
    .andThen((request) => checkTier(request, account));
}

function checkDatasetUrl(
  request: TrainingRequest,
  allowFileUrls: boolean,
): Result<TrainingRequest, ValidationError> {
  const protocols = allowFileUrls ? ['http:', 'https:', 'file:'] : ['http:', 'https:'];
  const url = request.dataset_url;
  if (URL.canParse(url) && protocols.includes(new URL(url).protocol)) return ok(request);
  const msg = `${JSON.stringify(url)} is no URL of a dataset; give one that begins with ${protocols.join(' or ')}`;
  return err(new ValidationError([{ loc: ['dataset_url'], msg, type: 'invalid_url' }]));
}

function checkTier(request: TrainingRequest, { tier }: Account): Result<TrainingRequest, TierError> {
  const needsPro = request.model_config.type === 'question-answering';
  return needsPro && tier !== 'pro' ? err(new TierError('training a question-answering model')) : ok(request);
}
