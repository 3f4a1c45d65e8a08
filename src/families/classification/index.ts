import type { Family } from '../family.js';

/** Text classification: binary, multiclass and multilabel. */
export const papaya: Family = {
  name: 'Papaya',
  tier: 'basic',
  durations: {
    scratch: { rows: 40_000, minEpochs: 3, maxEpochs: 30 },
    backbone: { rows: 40_000, minEpochs: 3, maxEpochs: 10 },
  },
  answerView: 'labels',
  longTexts: 'truncate',
  marksCapitals: false,
  classNames: ({ orchard }) => ({ noun: 'label', names: orchard.labels }),
  rows: async () => (await import('./rows.js')).classificationRows,
  training: async () => (await import('./training.js')).papayaTraining,
  decoder: async (config, files) => (await import('./decoder.js')).papayaDecoder(config, files),
};
