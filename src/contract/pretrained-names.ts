/** Pretrained models by name (docs/service.md, "Pretrained models"). Loads no schemas, for the help of the command line. */

/** Those that the catalogue answers to. */
export const pretrainedModelNames = [
  'customer-review',
  'sentiment-classification',
  'emotion-detection',
  'toxicity-detection',
  'news-classification',
  'financial-customer-support',
  'financial-sentiment-analysis',
  'conversational-language-understanding-english',
  'conversational-language-understanding-japanese',
  'named-entity-recognition',
  'research-papers-search',
] as const;
/** A pretrained model of the catalogue. Other names work too, where the model loader in use knows them. */
export type PretrainedModelName = (typeof pretrainedModelNames)[number];
