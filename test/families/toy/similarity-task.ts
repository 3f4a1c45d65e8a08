import type { PartFigures, TrainingTask } from '../../../src/families/index.js';
import { OVERLAP_FILE, trainOverlap } from './overlap-expert.js';
import { pairHead } from './pair-head.js';

/** Two texts separated by a tab. */
export interface PairRow {
  readonly text: string;
  readonly isSimilar: boolean;
}

const LABELS = ['different', 'similar'];

type Weights = PartFigures['weights'];
const ENCODER: Weights = { encoder: 1, expert: 0, bias: [] };
const EXPERT: Weights = { encoder: 0, expert: 20, bias: [] };
const BOTH: Weights = { encoder: 1, expert: 20, bias: [] };

export function probabilityOf(logit: number, overlap: number, { encoder, expert }: Weights): number {
  return 1 / (1 + Math.exp(-(encoder * logit + expert * overlap)));
}

export function similarityTask(train: readonly PairRow[], dev: readonly PairRow[]): TrainingTask {
  const accuracyOf = (isSimilar: (text: string, row: number) => boolean) => {
    const right = dev.filter((row, at) => isSimilar(row.text, at) === row.isSimilar).length;
    return { accuracy: right / dev.length, value: right / dev.length };
  };
  const texts = train.map(({ text }) => text);
  return {
    warnings: [{ kind: 'untranslated_pair', count: 1, message: '1 pair in two languages', examples: [] }],
    train: texts,
    dev: dev.map(({ text }) => text),
    mainMetric: 'accuracy',
    head: pairHead(train.map(({ isSimilar }) => (isSimilar ? 1 : 0))),
    augmented: () => similarityTask(train, dev),
    evaluate: (outputs) => accuracyOf((_, row) => (outputs[row]?.[0]?.outputs[0] ?? 0) > 0),
    async trainExpert() {
      const { overlap, file } = trainOverlap(texts);
      return {
        finish(outputs) {
          const figures = (weights: Weights): PartFigures => ({
            ...accuracyOf((text, row) => {
              const logit = outputs[row]?.[0]?.outputs[0] ?? 0;
              return probabilityOf(logit, overlap(text), weights) > 0.5;
            }),
            weights,
          });
          const blend = { encoder: figures(ENCODER), expert: figures(EXPERT), blend: figures(BOTH) };
          return { blend, files: new Map([[OVERLAP_FILE, file]]) };
        },
      };
    },
    describe: () => ({
      id2label: { 0: 'similar' },
      label2id: { similar: 0 },
      labels: LABELS,
      pooling: 'mean',
    }),
  };
}
