import type { TrainingRequest } from '../../src/contract/index.js';

/** A request that nothing is wrong with. */
export const aRequest: TrainingRequest = {
  dataset_url: 'https://example.com/reviews.zip',
  model_config: {
    name: 'reviews',
    type: 'binary-text-classification',
    family: 'Papaya',
    size: 'mini',
  },
};
