/** A family from elsewhere: whether two texts, of one row and separated by a tab, say the same. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ModelFolderError } from '../../../src/errors.js';
import {
  type Dataset,
  type Family,
  type FamilyRows,
  transformersUsage,
} from '../../../src/families/index.js';
import { CONFIG_FILE } from '../../../src/model-folder/index.js';
import { decodeOverlap, OVERLAP_FILE } from './overlap-expert.js';
import { pairLogits } from './pair-head.js';
import { type PairRow, probabilityOf, similarityTask } from './similarity-task.js';

/** Rows of two texts and a label, separated by tabs. */
function readPairs(directory: string, name: string): PairRow[] {
  const lines = readFileSync(join(directory, name), 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [first = '', second = '', label] = line.split('\t');
    return { text: `${first}\t${second}`, isSimilar: label === 'similar' };
  });
}

interface PairDataset extends Dataset {
  readonly train: readonly PairRow[];
  readonly dev: readonly PairRow[];
}

const pairRows: FamilyRows<PairDataset> = {
  read: async (directory) => ({
    train: readPairs(directory, 'train.tsv'),
    dev: readPairs(directory, 'dev.tsv'),
    warnings: [],
  }),
  check: async () => {
    throw new TypeError('pairs come in archives alone');
  },
  write: () => ({}),
};

export const quince: Family = {
  name: 'Quince',
  types: [
    {
      name: 'sentence-pair-similarity',
      mainMetric: 'accuracy',
      card: {
        does: 'says whether two texts mean the same',
        pipeline: 'text-classification',
        usage: transformersUsage('text-classification'),
      },
    },
  ],
  tier: 'basic',
  durations: {
    scratch: { rows: 1000, minEpochs: 1, maxEpochs: 4 },
    backbone: { rows: 1000, minEpochs: 1, maxEpochs: 4 },
  },
  metrics: ['accuracy'],
  warningKinds: ['untranslated_pair'],
  answerView: 'labels',
  longTexts: 'truncate',
  marksCapitals: false,
  classNames: ({ orchard }) => ({ noun: 'verdict', names: orchard.labels }),
  rows: async () => pairRows,
  training: async () => ({
    task: ({ train, dev }: PairDataset) => similarityTask(train, dev),
    exportedOutputs: (graph, encoder, inputs) => ({
      name: 'logits',
      tensor: pairLogits(graph, encoder, inputs),
    }),
  }),
  async decoder({ orchard: { blend, labels } }, files) {
    const file = files.get(OVERLAP_FILE);
    if (blend === undefined || file === undefined) {
      throw new ModelFolderError(CONFIG_FILE, 'the orchard section names no blend or no expert');
    }
    const overlap = decodeOverlap(file.bytes);
    return (text, [window]) => {
      const similar = probabilityOf(window?.outputs[0] ?? 0, overlap(text), blend);
      const ranked = [1 - similar, similar]
        .map((score, id) => ({ score, label: labels[id] ?? '' }))
        .sort((a, b) => b.score - a.score);
      return { labels: ranked.map(({ label }) => label), scores: ranked.map(({ score }) => score) };
    };
  },
};
