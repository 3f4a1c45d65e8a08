/** Pretrained models by name (docs/service.md, "Pretrained models"). */
import * as z from 'zod';

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

export const pretrainedNameSchema = z.string().min(1, 'the name of the model is empty');
