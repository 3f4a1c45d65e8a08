import type { Family } from '../family.js';
import { entityTypes } from './bio-tags.js';

/** Sequence labelling: finds entities and their exact places. */
export const grapefruit: Family = {
  name: 'Grapefruit',
  tier: 'basic',
  durations: {
    scratch: { rows: 60_000, minEpochs: 3, maxEpochs: 30 },
    backbone: { rows: 120_000, minEpochs: 3, maxEpochs: 10 },
  },
  answerView: 'entities',
  longTexts: 'windows',
  backboneEnding: 'entities',
  marksCapitals: true,
  classNames: ({ orchard }) => ({ noun: 'entity type', names: entityTypes(orchard.labels) }),
  rows: async () => (await import('./rows.js')).sequenceRows,
  training: async () => (await import('./training.js')).grapefruitTraining,
  decoder: async (config, files) => (await import('./decoder.js')).grapefruitDecoder(config, files),
};
