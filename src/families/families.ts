import { type FamilyName, familyNameOf, type ModelType } from '../contract/index.js';
import type { ModelFolderConfig } from '../models/index.js';
import { answering, familyNameOfModel } from './answering.js';
import type { Family, TypeFacts } from './family.js';

const papaya: Family = {
  ...answering.Papaya,
  tier: 'basic',
  durations: {
    scratch: { rows: 40_000, minEpochs: 3, maxEpochs: 30 },
    backbone: { rows: 40_000, minEpochs: 3, maxEpochs: 10 },
  },
  longTexts: 'truncate',
  marksCapitals: false,
  rows: async () => (await import('./classification/rows.js')).classificationRows,
  training: async () => (await import('./classification/training.js')).papayaTraining,
};

export const grapefruit: Family = {
  ...answering.Grapefruit,
  tier: 'basic',
  durations: {
    scratch: { rows: 60_000, minEpochs: 3, maxEpochs: 30 },
    backbone: { rows: 120_000, minEpochs: 3, maxEpochs: 10 },
  },
  longTexts: 'windows',
  backboneEnding: 'entities',
  marksCapitals: true,
  rows: async () => (await import('./entities/rows.js')).sequenceRows,
  training: async () => (await import('./entities/training.js')).grapefruitTraining,
};

export const dragonfruit: Family = {
  ...answering.Dragonfruit,
  tier: 'pro',
  // A row costs more here: each question is trained with two passages, and each epoch ends with reading all.
  durations: {
    scratch: { rows: 15_000, minEpochs: 2, maxEpochs: 5 },
    backbone: { rows: 10_000, minEpochs: 1, maxEpochs: 5 },
  },
  longTexts: 'truncate',
  marksCapitals: false,
  rows: async () => (await import('./retrieval/rows.js')).retrievalRows,
  training: async () => (await import('./retrieval/training.js')).dragonfruitTraining,
};

export const families: Readonly<Record<FamilyName, Family>> = {
  Papaya: papaya,
  Grapefruit: grapefruit,
  Dragonfruit: dragonfruit,
};

const transformersUsage = (
  pipeline: string,
) => `With transformers.js, the encoder alone, where it knows the \`model_type\` of config.json for this task:

\`\`\`js
import { pipeline } from '@huggingface/transformers';

const model = await pipeline('${pipeline}', '<this folder>', { dtype: 'fp32' });
console.log(await model('A text.'));
\`\`\``;

const classifierCard = (does: string): TypeFacts['card'] => ({
  does,
  pipeline: 'text-classification',
  usage: transformersUsage('text-classification'),
});

const taggerCard: TypeFacts['card'] = {
  does: 'finds entities and their positions in a text',
  pipeline: 'token-classification',
  usage: transformersUsage('token-classification'),
};

export const typeFacts: Readonly<Record<ModelType, TypeFacts>> = {
  'binary-text-classification': {
    mainMetric: 'accuracy',
    card: classifierCard('gives a text one of two labels'),
  },
  'multiclass-text-classification': {
    mainMetric: 'accuracy',
    card: classifierCard('gives a text one of several labels'),
  },
  'multilabel-text-classification': {
    // Not accuracy: rows with all labels right are rare.
    mainMetric: 'f1',
    // Labels are decided independently of each other, so there is no share to spread.
    labelSmoothing: 0,
    card: classifierCard('gives a text any number of labels'),
  },
  'named-entity-recognition': { mainMetric: 'f1', card: taggerCard },
  'sequence-labeling': { sameTaskAs: 'named-entity-recognition', mainMetric: 'f1', card: taggerCard },
  'question-answering': {
    mainMetric: undefined,
    card: {
      does: 'answers a question with the passages that fit it best',
      pipeline: 'sentence-similarity',
      usage:
        'With sentence-transformers, the encoder alone: `SentenceTransformer("<this folder>").encode(["A text."])`.',
    },
  },
};

/** The type that names a type's task: the type itself, or the one that it is another name for. */
export function taskOf(type: ModelType): ModelType {
  return typeFacts[type].sameTaskAs ?? type;
}

export function familyOfType(type: ModelType): Family {
  return families[familyNameOf[type]];
}

/** @param file its config.json, named in errors. @throws ModelFolderError if its type belongs to another family */
export function familyOfModel(config: Pick<ModelFolderConfig, 'orchard'>, file: string): Family {
  return families[familyNameOfModel(config, file)];
}
