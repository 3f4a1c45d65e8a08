import type { DatasetWarning } from '../datasets/index.js';
import type { Backbone } from './backbone.js';
import { askedLowercase, type Hyperparameters } from './hyperparameters.js';
import type { TokenizedRows } from './tokenize.js';
import type { TrainingSpec } from './training-run.js';

/** What the user should know of a run, besides the warnings about its dataset. */
export function runWarnings(
  { model_config, training_config }: TrainingSpec,
  { train, reading }: Pick<TokenizedRows, 'train' | 'reading'>,
  { pretrained, maxTokens, language }: Hyperparameters,
  backbone: Backbone | undefined,
): DatasetWarning[] {
  const warnings: DatasetWarning[] = [];
  const warn = (kind: DatasetWarning['kind'], count: number, message: string) =>
    warnings.push({ kind, count, message, examples: [] });
  const truncated = train.filter(({ encoding }) => encoding.truncated > 0).length;
  if (truncated > 0) {
    const rest = `longer than ${maxTokens} tokens; the rest of each is not read`;
    warn('truncated_text', truncated, `${truncated} training texts are ${rest}`);
  }
  if (pretrained && backbone === undefined) {
    const { size } = model_config;
    const lacking = `there is no backbone for ${language} in size ${size}, so training started from random weights`;
    const advice =
      "install orchard-nlp-models, which has english-mini, name a backbone in the trainer's option `backbone`, or set use_pretrained to false if random weights are what you want";
    warn('no_backbone', 1, `${lacking}; ${advice}`);
  }
  const asked = askedLowercase(model_config, training_config);
  if (backbone && asked !== undefined && asked !== backbone.lowercase && reading.token_types !== 'capitals') {
    const reads = backbone.lowercase ? 'folds texts to lower case' : 'tells upper from lower case';
    const message = `preprocessing.lowercase is ${asked}, but the backbone ${backbone.source.name} ${reads}, and so does the encoder; the lexical expert follows the request`;
    warn('backbone_lowercase', 1, message);
  }
  return warnings;
}
