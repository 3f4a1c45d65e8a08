import type { PairExamples, PairHead } from '../../engine/index.js';
import { Bm25Index } from '../../lexical/index.js';
import { mapSteps, mapWithPauses, Random, type Steps, withPauses } from '../../system/index.js';
import type { TextOutputs } from '../../text/index.js';
import type {
  Blend,
  FamilyTraining,
  FinishedTask,
  PartFigures,
  Scores,
  TaskDescription,
  TrainedExpert,
  TrainingTask,
} from '../family.js';
import { foldText } from '../row-sets.js';
import { editWords } from '../words.js';
import { fitRetrievalBlend, type JudgedCandidates, type RetrievalWeights, rankOfAnswer } from './calibration.js';
import { meanReciprocalRank, pessimisticRank, retrievalEvaluation, topkScores } from './evaluation.js';
import {
  contrastiveFeeds,
  contrastiveLoss,
  mineHardNegatives,
  pooledVectors,
  tokenStates,
  vectorParameters,
} from './head.js';
import {
  encodePassages,
  findCandidates,
  PASSAGES_FILE,
  POSTINGS_FILE,
  type RetrievalExperts,
  VECTORS_FILE,
} from './passages.js';
import type { Question, RetrievalDataset } from './retrieval-dataset.js';
import { unitVectors, VectorIndex } from './vector-index.js';

/** Words in at least this share of the questions ("what", "of") say little about what is asked. */
const COMMON_SHARE = 0.02;
/** A common word is also in at least this many questions: a share of few questions says nothing. */
const MIN_COMMON = 3;

/**
 * One edited copy of every question, with the same passage. Only common words are dropped, any may be swapped
 * with a neighbour, so the words that say what is asked all stay. Questions too short to edit safely, and
 * edits that change nothing, give no copy.
 */
export function augmentQuestions(questions: readonly Question[], seed: number): Question[] {
  const random = Random.fromSeed(seed);
  const isCommon = commonWords(questions);
  return questions.flatMap(({ question, passage }) => {
    const edited = editWords(question, random, isCommon);
    return edited === question ? [] : [{ question: edited, passage }];
  });
}

function commonWords(questions: readonly Question[]): (word: string) => boolean {
  const counts = new Map<string, number>();
  for (const { question } of questions) {
    for (const word of new Set(foldText(question).split(' '))) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const fewest = Math.max(MIN_COMMON, COMMON_SHARE * questions.length);
  return (word) => (counts.get(word.toLowerCase()) ?? 0) >= fewest;
}

/** Wrong passages added to the batch for each question, besides those of the other questions. */
const HARD_NEGATIVES = 1;

/**
 * A retrieval dataset as the training loop sees it: texts are the questions, then every passage.
 * @param indexFor gives the BM25 index of the passages for questions in a language.
 */
export function retrievalTask(
  dataset: RetrievalDataset,
  indexFor = passageIndexes(dataset.passages),
): TrainingTask<PairHead> {
  const { passages, train, dev, warnings } = dataset;
  const texts = (questions: readonly Question[]) => [...questions.map(({ question }) => question), ...passages];
  return {
    warnings,
    train: texts(train),
    dev: texts(dev),
    examples: { train: train.length, dev: dev.length },
    mainMetric: undefined,
    head: vectorHead(dataset, indexFor),
    augmented: ({ seed }) =>
      retrievalTask({ ...dataset, train: [...train, ...augmentQuestions(train, seed)] }, indexFor),
    async evaluate(outputs, signal) {
      const { questions, index } = split(outputs, dev.length);
      const rankOf = ({ passage }: Question, row: number) => pessimisticRank(index.scores(questions(row)), passage);
      return scoresOf(await mapWithPauses(dev, rankOf, signal));
    },
    trainExpert: async ({ language, signal }) => trainExpert(dataset, await indexFor(language, signal)),
    describe,
  };
}

function scoresOf(ranks: readonly number[]): Scores {
  return { topk: topkScores(ranks), value: meanReciprocalRank(ranks) };
}

/** The unit vectors of the dev questions, and an index of the passages' vectors. */
function split(outputs: readonly TextOutputs[], questions: number) {
  const vectors = unitVectors(outputs);
  const width = vectors.length / outputs.length;
  const index = VectorIndex.fromVectors(vectors.subarray(questions * width), width);
  return { questions: (row: number) => vectors.subarray(row * width, (row + 1) * width), index };
}

/** Gives BM25 indexes, made on first use: one with stemming for English, one without for all other languages. */
function passageIndexes(passages: readonly string[]): PassageIndexes {
  const made = new Map<boolean, Bm25Index>();
  return async (language, signal) => {
    const stem = language.toLowerCase() === 'english';
    const index = made.get(stem) ?? (await withPauses(Bm25Index.indexing(passages, { stem }), signal));
    made.set(stem, index);
    return index;
  };
}

/** Gives the BM25 index of the passages for questions in a language. */
type PassageIndexes = (language: string, signal: AbortSignal) => Promise<Bm25Index>;

/** The encoder alone, which learns to put a question near the passage that answers it, far from others of its batch. */
function vectorHead({ passages, train }: RetrievalDataset, indexFor: PassageIndexes): PairHead {
  return {
    kind: 'pairs',
    per: 'text',
    outputs: ({ width }) => width,
    parameters: vectorParameters,
    logits: pooledVectors,
    async examples({ language, signal }) {
      const options = { count: HARD_NEGATIVES, signal };
      const index = await indexFor(language, signal);
      return pairExamples(train, await mineHardNegatives(passages, train, index, options));
    },
    pairLoss: contrastiveLoss,
  };
}

/** Rows of passages come after those of the questions. */
function pairExamples(train: readonly Question[], negatives: readonly (readonly number[])[]): PairExamples {
  const examples = train.map(({ question, passage }, row) => ({
    question: foldText(question),
    passages: [passage, ...(negatives[row] ?? [])],
  }));
  return {
    rows: examples.map((example, row) => [row, ...example.passages.map((id) => train.length + id)]),
    feeds: (batch) => contrastiveFeeds(batch.flatMap((row) => examples[row] ?? [])),
  };
}

/** BM25 has nothing to learn. */
function trainExpert(dataset: RetrievalDataset, bm25: Bm25Index): TrainedExpert {
  return { finish: (outputs, signal) => withPauses(finish(dataset, bm25, outputs), signal) };
}

function* finish(
  { passages, dev }: RetrievalDataset,
  bm25: Bm25Index,
  outputs: readonly TextOutputs[],
): Steps<FinishedTask> {
  const { questions, index } = split(outputs, dev.length);
  const experts: RetrievalExperts = { vectors: index, bm25 };
  const judged = yield* mapSteps(dev, ({ question, passage }, row): JudgedCandidates => {
    return { candidates: findCandidates(question, questions(row), experts), passage };
  });
  const weights = yield* fitRetrievalBlend(judged);
  const figures = function* (
    rankOf: (question: Question, row: number) => number,
    part: PartFigures['weights'],
  ): Steps<PartFigures> {
    return { ...scoresOf(yield* mapSteps(dev, rankOf)), weights: part };
  };
  const blend: Blend = {
    encoder: yield* figures(({ passage }, row) => pessimisticRank(index.scores(questions(row)), passage), {
      encoder: 1,
      expert: 0,
      bias: [],
    }),
    expert: yield* figures(({ question, passage }) => pessimisticRank(bm25.scores(question), passage), {
      encoder: 0,
      expert: 1,
      bias: [],
    }),
    blend: yield* figures((_, row) => rankIn(judged[row], weights), {
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
  return { blend, files, evaluation: yield* retrievalEvaluation({ passages, dev }, judged, weights) };
}

function rankIn(judged: JudgedCandidates | undefined, weights: RetrievalWeights): number {
  return judged === undefined ? Number.POSITIVE_INFINITY : rankOfAnswer(judged, weights);
}

const describe = (): TaskDescription => ({
  id2label: {},
  label2id: {},
  labels: [],
  pooling: 'mean',
});

export const dragonfruitTraining: FamilyTraining<RetrievalDataset> = {
  task: (dataset) => retrievalTask(dataset),
  exportedOutputs: (graph, encoder, inputs) => ({
    name: 'last_hidden_state',
    tensor: tokenStates(graph, encoder, inputs),
  }),
  companions: ({ width }, { orchard }) => sentenceTransformersFiles(width, orchard.max_tokens),
};

const json = (value: unknown): Uint8Array => Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`);

const modules = [
  { idx: 0, name: '0', path: '', type: 'sentence_transformers.models.Transformer' },
  { idx: 1, name: '1', path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
  { idx: 2, name: '2', path: '2_Normalize', type: 'sentence_transformers.models.Normalize' },
];

/**
 * Tells sentence-transformers what comes after the encoder: token states are averaged and brought to unit length.
 * @param width of a vector. @param maxTokens longer texts are cut to this many tokens.
 */
function sentenceTransformersFiles(width: number, maxTokens: number): ReadonlyMap<string, Uint8Array> {
  return new Map([
    ['modules.json', json(modules)],
    ['sentence_bert_config.json', json({ max_seq_length: maxTokens, do_lower_case: false })],
    ['config_sentence_transformers.json', json({ similarity_fn_name: 'cosine' })],
    [
      '1_Pooling/config.json',
      json({
        word_embedding_dimension: width,
        pooling_mode_cls_token: false,
        pooling_mode_mean_tokens: true,
        pooling_mode_max_tokens: false,
        pooling_mode_mean_sqrt_len_tokens: false,
      }),
    ],
  ]);
}
