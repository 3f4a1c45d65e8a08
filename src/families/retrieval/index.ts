import type { Family } from '../family.js';

/** Question answering: finds the passages that answer a question best. */
export const dragonfruit: Family = {
  name: 'Dragonfruit',
  tier: 'pro',
  // A row costs more here: each question is trained with two passages, and each epoch ends with reading all.
  durations: {
    scratch: { rows: 15_000, minEpochs: 2, maxEpochs: 5 },
    backbone: { rows: 10_000, minEpochs: 1, maxEpochs: 5 },
  },
  answerView: 'passages',
  longTexts: 'truncate',
  marksCapitals: false,
  classNames: () => ({ noun: 'label', names: [] }),
  rows: async () => (await import('./rows.js')).retrievalRows,
  training: async () => (await import('./training.js')).dragonfruitTraining,
  decoder: async (config, files) => (await import('./decoder.js')).dragonfruitDecoder(config, files),
};
