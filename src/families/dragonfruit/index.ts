import type { Family } from '../family.js';

/** Question answering: finds the passages that answer a question best. */
export const dragonfruit: Family = {
  name: 'Dragonfruit',
  types: [
    {
      name: 'question-answering',
      mainMetric: undefined,
      card: {
        does: 'answers a question with the passages that fit it best',
        pipeline: 'sentence-similarity',
        usage:
          'With sentence-transformers, the encoder alone: `SentenceTransformer("<this folder>").encode(["A text."])`.',
      },
    },
  ],
  tier: 'pro',
  // A row costs more here: each question is trained with two passages, and each epoch ends with reading all.
  durations: {
    scratch: { rows: 15_000, minEpochs: 2, maxEpochs: 5 },
    backbone: { rows: 10_000, minEpochs: 1, maxEpochs: 5 },
  },
  metrics: ['topk'],
  warningKinds: ['duplicate_row', 'train_row_in_dev', 'passage_without_question', 'unknown_field'],
  answerView: 'passages',
  longTexts: 'truncate',
  marksCapitals: false,
  classNames: () => ({ noun: 'label', names: [] }),
  rows: async () => (await import('./rows.js')).retrievalRows,
  training: async () => (await import('./training.js')).dragonfruitTraining,
  decoder: async (config, files) => (await import('./decoder.js')).dragonfruitDecoder(config, files),
};
