import type { Result } from 'neverthrow';
import type { AbortedError } from '../../errors.js';
import { Bm25Index } from '../../lexical/index.js';
import { VectorIndex } from '../../vector-index/index.js';
import type {
  Blend,
  ExpertOptions,
  FinishedTask,
  PairTraining,
  PartFigures,
  Scores,
  TaskDescription,
  TextOutputs,
  TrainedExpert,
  TrainingHead,
  TrainingTask,
} from '../family.js';
import { foldText } from '../fold-text.js';
import { surrogateLoss } from '../output-gradients.js';
import { augmentQuestions } from './augment-questions.js';
import {
  fitRetrievalBlend,
  type JudgedCandidates,
  type RetrievalWeights,
  rankOfAnswer,
} from './blend-retrieval.js';
import { findCandidates, type RetrievalExperts } from './candidates.js';
import { contrastiveFeeds, contrastiveLoss } from './contrastive-loss.js';
import { retrievalEvaluation } from './evaluation.js';
import { mineHardNegatives } from './hard-negatives.js';
import { encodePassages, PASSAGES_FILE, POSTINGS_FILE, VECTORS_FILE } from './passage-files.js';
import type { Question, RetrievalDataset } from './retrieval-dataset.js';
import { pooledVectors, unitVectors, vectorParameters } from './sentence-vector.js';
import { meanReciprocalRank, pessimisticRank, topkScores } from './topk-scores.js';

/** Wrong passages that each question brings along, beside those of the other questions of its batch. */
const HARD_NEGATIVES = 1;

/** A retrieval dataset as the training loop sees it: texts are the questions, then every passage. */
export function retrievalTask(dataset: RetrievalDataset): TrainingTask {
  const { passages, train, dev, warnings } = dataset;
  const texts = (questions: readonly Question[]) => [
    ...questions.map(({ question }) => question),
    ...passages,
  ];
  return {
    warnings,
    train: texts(train),
    dev: texts(dev),
    examples: { train: train.length, dev: dev.length },
    mainMetric: undefined,
    head: vectorHead,
    augmented: (seed) => retrievalTask({ ...dataset, train: [...train, ...augmentQuestions(train, seed)] }),
    evaluate(outputs) {
      const { questions, index } = split(outputs, dev.length);
      return scoresOf(dev.map(({ passage }, row) => pessimisticRank(index.scores(questions(row)), passage)));
    },
    trainExpert: (options) => trainExpert(dataset, options),
    describe,
  };
}

function scoresOf(ranks: readonly number[]): Scores {
  return { topk: topkScores(ranks), value: meanReciprocalRank(ranks) };
}

/** Unit vectors of the dev questions, and an index of those of the passages. */
function split(outputs: readonly TextOutputs[], questions: number) {
  const vectors = unitVectors(outputs);
  const width = vectors.length / outputs.length;
  const index = VectorIndex.fromVectors(vectors.subarray(questions * width), width);
  return { questions: (row: number) => vectors.subarray(row * width, (row + 1) * width), index };
}

const vectorHead: TrainingHead = {
  outputs: ({ hidden_size }) => hidden_size,
  per: 'text',
  parameters: vectorParameters,
  logits: pooledVectors,
  loss: surrogateLoss,
  targets() {
    throw new RangeError('texts that are compared with each other have no targets by themselves');
  },
};

async function trainExpert(
  dataset: RetrievalDataset,
  { language, signal }: ExpertOptions,
): Promise<Result<TrainedExpert, AbortedError>> {
  const { passages, train } = dataset;
  const bm25 = Bm25Index.fromPassages(passages, { stem: language.toLowerCase() === 'english' });
  const mined = await mineHardNegatives(passages, train, bm25, { count: HARD_NEGATIVES, signal });
  return mined.map((negatives) => ({
    pairs: pairTraining(train, negatives),
    finish: (outputs) => finish(dataset, bm25, outputs),
  }));
}

/** Rows of passages come after those of the questions. */
function pairTraining(train: readonly Question[], negatives: readonly (readonly number[])[]): PairTraining {
  const examples = train.map(({ question, passage }, row) => ({
    question: foldText(question),
    passages: [passage, ...(negatives[row] ?? [])],
  }));
  return {
    examples: examples.map((example, row) => [row, ...example.passages.map((id) => train.length + id)]),
    loss: contrastiveLoss,
    feeds: (batch) => contrastiveFeeds(batch.flatMap((row) => examples[row] ?? [])),
  };
}

function finish(
  { passages, dev }: RetrievalDataset,
  bm25: Bm25Index,
  outputs: readonly TextOutputs[],
): FinishedTask {
  const { questions, index } = split(outputs, dev.length);
  const experts: RetrievalExperts = { vectors: index, bm25 };
  const judged = dev.map(({ question, passage }, row): JudgedCandidates => {
    return { candidates: findCandidates(question, questions(row), experts), passage };
  });
  const weights = fitRetrievalBlend(judged);
  const figures = (rankOf: (question: Question, row: number) => number, part: PartFigures['weights']) => ({
    ...scoresOf(dev.map(rankOf)),
    weights: part,
  });
  const blend: Blend = {
    encoder: figures(({ passage }, row) => pessimisticRank(index.scores(questions(row)), passage), {
      encoder: 1,
      expert: 0,
      bias: [],
    }),
    expert: figures(({ question, passage }) => pessimisticRank(bm25.scores(question), passage), {
      encoder: 0,
      expert: 1,
      bias: [],
    }),
    blend: figures((_, row) => rankIn(judged[row], weights), {
      encoder: weights.vector,
      expert: weights.bm25,
      bias: [],
    }),
  };
  const files = new Map([
    [PASSAGES_FILE, encodePassages(passages)],
    [VECTORS_FILE, index.encode()],
    [POSTINGS_FILE, bm25.encode()],
  ]);
  return { blend, files, evaluation: retrievalEvaluation({ passages, dev }, judged, weights) };
}

function rankIn(judged: JudgedCandidates | undefined, weights: RetrievalWeights): number {
  return judged === undefined ? Number.POSITIVE_INFINITY : rankOfAnswer(judged, weights);
}

const describe = (): TaskDescription => ({
  architectures: ['BertModel'],
  id2label: {},
  label2id: {},
  labels: [],
  pooling: 'mean',
});
