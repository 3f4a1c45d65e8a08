import type { FamilyType } from '../family.js';
import { transformersUsage } from '../transformers-usage.js';
import { mainMetricOf } from './classification-scores.js';

const PIPELINE = 'text-classification';

function cardOf(does: string): FamilyType['card'] {
  return { does, pipeline: PIPELINE, usage: transformersUsage(PIPELINE) };
}

export const classificationModelTypes: readonly FamilyType[] = [
  {
    name: 'binary-text-classification',
    mainMetric: mainMetricOf('binary'),
    card: cardOf('gives a text one of two labels'),
  },
  {
    name: 'multiclass-text-classification',
    mainMetric: mainMetricOf('multiclass'),
    card: cardOf('gives a text one of several labels'),
  },
  {
    name: 'multilabel-text-classification',
    mainMetric: mainMetricOf('multilabel'),
    // Labels are decided independently of each other, so there is no share to spread.
    labelSmoothing: 0,
    card: cardOf('gives a text any number of labels'),
  },
];
