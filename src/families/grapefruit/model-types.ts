import type { FamilyType } from '../family.js';
import { transformersUsage } from '../transformers-usage.js';

const PIPELINE = 'token-classification';

const card: FamilyType['card'] = {
  does: 'finds entities in a text and says where',
  pipeline: PIPELINE,
  usage: transformersUsage(PIPELINE),
};

export const sequenceModelTypes: readonly FamilyType[] = [
  { name: 'named-entity-recognition', mainMetric: 'f1', card },
  { name: 'sequence-labeling', sameTaskAs: 'named-entity-recognition', mainMetric: 'f1', card },
];
