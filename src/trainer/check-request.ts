import { type Account, type TrainingRequest, trainingRequestSchema, validate } from '../contract/index.js';
import { TierError, ValidationError } from '../errors.js';
import { families } from '../families/index.js';

export interface RequestRules {
  readonly account: Account;
  readonly allowFileUrls: boolean;
}

/** Checks everything about a request that can be known before the dataset is fetched. @throws ValidationError, TierError */
export function checkTrainingRequest(
  input: TrainingRequest,
  { account, allowFileUrls }: RequestRules,
): TrainingRequest {
  const request = validate(trainingRequestSchema, input);
  checkDatasetUrl(request.dataset_url, allowFileUrls);
  checkTier(request, account);
  return request;
}

function checkDatasetUrl(url: string, allowFileUrls: boolean): void {
  const protocols = allowFileUrls ? ['http:', 'https:', 'file:'] : ['http:', 'https:'];
  if (URL.canParse(url) && protocols.includes(new URL(url).protocol)) return;
  const msg = `${JSON.stringify(url)} is no URL of a dataset; give one that begins with ${protocols.join(' or ')}`;
  throw new ValidationError([{ loc: ['dataset_url'], msg, type: 'invalid_url' }]);
}

function checkTier({ model_config }: TrainingRequest, { tier }: Account): void {
  if (families[model_config.family].tier !== 'pro' || tier === 'pro') return;
  throw new TierError(`training a ${model_config.type} model`);
}
