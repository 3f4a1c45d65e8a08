import {
  type Dropout,
  type Encoder,
  type EncoderInputs,
  type ParameterSpec,
  pooledStates,
  tokenStates,
} from '../../encoder/index.js';
import type { PairExamples, PairHead, PairLoss } from '../../engine/index.js';
import { Graph, type Tensor, type TensorData } from '../../graph/index.js';
import { Bm25Index, encodeBm25, searchWords } from '../../lexical/index.js';
import { isPauseDue, mapSteps, mapWithPauses, pause, Random, type Steps, withPauses } from '../../system/index.js';
import type { TextOutputs } from '../../text/index.js';
import type { Blend, FamilyTraining, FinishedTask, PartFigures, Scores, TrainingTask } from '../family.js';
import { foldText } from '../row-sets.js';
import { editWords } from '../words.js';
import { fitRetrievalBlend, type JudgedCandidates, type RetrievalWeights, rankOfAnswer } from './calibration.js';
import { meanReciprocalRank, pessimisticRank, retrievalEvaluation, topkScores } from './evaluation.js';
import {
  encodePassages,
  findCandidates,
  PASSAGES_FILE,
  POSTINGS_FILE,
  type RetrievalExperts,
  VECTORS_FILE,
} from './passages.js';
import type { Question, RetrievalDataset } from './retrieval-dataset.js';
import { encodeVectors, unitVectors, VectorIndex } from './vector-index.js';

const ENCODER_PREFIX = '';

const vectorParameters = (encoder: Encoder): readonly ParameterSpec[] => encoder.parameters(ENCODER_PREFIX);

/** The mean of a text's hidden states. @returns [batch, hidden], not yet of unit length. */
function pooledVectors(graph: Graph, encoder: Encoder, inputs: EncoderInputs, dropout: Dropout): Tensor {
  return pooledStates(graph, encoder, inputs, {
    prefix: ENCODER_PREFIX,
    dropout,
    pooling: 'mean',
    differentiable: true,
  });
}

/** What cosines are multiplied by before the softmax: the inverse temperature, as in sentence-transformers. */
const SCALE = 20;
/** Added to squared norms, so that a vector of zeros isn't divided by 0. */
const TINY = 1e-12;
/** Added to a passage's score, takes it out of the softmax. */
const MASKED = -1e9;

/**
 * Brings questions nearer to their own passages than to others of the batch: cross-entropy over scaled cosines
 * (Henderson et al. 2017, "Efficient Natural Language Response Suggestion", 4.4; Karpukhin et al. 2020).
 */
export function contrastiveLoss(width: number): PairLoss {
  const graph = new Graph();
  const questions = graph.parameter('questions', ['questions', width]);
  const passages = graph.parameter('passages', ['passages', width]);
  const mask = graph.input('mask', 'float32', ['questions', 'passages']);
  const targets = graph.input('targets', 'float32', ['questions', 'passages']);
  const attributes = { transposeB: true, alpha: SCALE };
  const cosines = graph.gemm(unitRows(graph, questions), unitRows(graph, passages), attributes);
  const terms = graph.multiply(graph.logSoftmax(graph.add(cosines, mask)), targets);
  const loss = graph.scale(graph.reduceSum(terms, [0, 1]), -1);
  return { graph, anchors: questions, candidates: passages, loss };
}

function unitRows(graph: Graph, x: Tensor): Tensor {
  const squares = graph.reduceSum(graph.multiply(x, x), [1], true);
  return graph.divide(x, graph.sqrt(graph.add(squares, graph.constant([TINY], []))));
}

/** One question of a batch: the id of its passage, and those of the passages that it brings into the batch. */
export interface ContrastiveExample {
  /** Folded, so that equal texts are the same question. */
  readonly question: string;
  /** The right one first. */
  readonly passages: readonly number[];
}

/** A copy of the right passage, or one that answers the same question elsewhere in the batch, is masked. */
export function contrastiveFeeds(batch: readonly ContrastiveExample[]): Readonly<Record<string, TensorData>> {
  const passages = batch.flatMap((example) => example.passages);
  const dims = [batch.length, passages.length];
  const mask = new Float32Array(batch.length * passages.length);
  const targets = new Float32Array(mask.length);
  const answers = new Map<string, Set<number>>();
  for (const {
    question,
    passages: [right = -1],
  } of batch) {
    answers.set(question, (answers.get(question) ?? new Set()).add(right));
  }
  let own = 0;
  for (const [row, example] of batch.entries()) {
    const right = answers.get(example.question);
    for (const [column, passage] of passages.entries()) {
      if (column !== own && right?.has(passage)) mask[row * passages.length + column] = MASKED;
    }
    targets[row * passages.length + own] = 1 / batch.length;
    own += example.passages.length;
  }
  return {
    mask: { type: 'float32', dims, data: mask },
    targets: { type: 'float32', dims, data: targets },
  };
}

/** How many of the best passages are looked through for hard negatives, besides the right ones. */
const LOOKED_THROUGH = 10;

/**
 * The passages that BM25 wrongly takes for answers, best first: none that answers the same question elsewhere, and no
 * copy or near copy of these, such as an overlapping part of the same document. Fewer than `count` if fewer share a word
 * with the question. @throws AbortedError soon after the signal fires
 */
export async function mineHardNegatives(
  passages: readonly string[],
  questions: readonly Question[],
  index: Bm25Index,
  { count, signal }: { readonly count: number; readonly signal?: AbortSignal },
): Promise<readonly (readonly number[])[]> {
  await pause(signal);
  const answers = new AnswerTable(passages, questions);
  const negatives: number[][] = [];
  for (const question of questions) {
    if (isPauseDue()) await pause(signal);
    const right = answers.of(question);
    const isNearCopy = nearCopies([...right].map((id) => passages[id] ?? ''));
    const wrong: number[] = [];
    for (const { id } of index.search(question.question, count + right.size + LOOKED_THROUGH)) {
      if (wrong.length === count) break;
      if (!right.has(id) && !isNearCopy(passages[id] ?? '')) wrong.push(id);
    }
    negatives.push(wrong);
  }
  return negatives;
}

/** A passage is a near copy of another if at least this share of the shorter one's word sequences is in both. */
const NEAR_COPY = 0.5;

/** Tells whether a text is a near copy of one of these. */
function nearCopies(texts: readonly string[]): (text: string) => boolean {
  const known = texts.map(wordSequences);
  return (text) => {
    const sequences = wordSequences(text);
    return known.some((other) => {
      const shorter = Math.min(sequences.size, other.size);
      const shared = [...sequences].filter((sequence) => other.has(sequence)).length;
      return shorter > 0 && shared / shorter >= NEAR_COPY;
    });
  };
}

/** Three words in a row each ("shingles", Broder 1997); in scripts without spaces, three pairs of letters. */
function wordSequences(text: string): ReadonlySet<string> {
  const words = searchWords(text);
  return new Set(words.slice(2).map((word, at) => `${words[at]} ${words[at + 1]} ${word}`));
}

class AnswerTable {
  /** Ids of the passages with the same folded text, by that text. */
  readonly #copies = new Map<string, number[]>();
  /** Folded texts of the passages that answer a question, by the folded question. */
  readonly #answers = new Map<string, Set<string>>();

  constructor(passages: readonly string[], questions: readonly Question[]) {
    const folded = passages.map(foldText);
    for (const [id, text] of folded.entries()) {
      const copies = this.#copies.get(text);
      if (copies) copies.push(id);
      else this.#copies.set(text, [id]);
    }
    for (const { question, passage } of questions) {
      const key = foldText(question);
      const answer = folded[passage] ?? '';
      const answers = this.#answers.get(key);
      if (answers) answers.add(answer);
      else this.#answers.set(key, new Set([answer]));
    }
  }

  of({ question }: Question): ReadonlySet<number> {
    const answers = this.#answers.get(foldText(question)) ?? [];
    return new Set([...answers].flatMap((text) => this.#copies.get(text) ?? []));
  }
}

/** Words in at least this share of the questions ("what", "of") say little about what is asked. */
const COMMON_SHARE = 0.02;
/** A common word is also in at least this many questions: a share of few questions says nothing. */
const MIN_COMMON = 3;

/** One copy of every question. Only common words are dropped, so the words that say what is asked all stay. */
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

/** With fewer questions, the vectors stay as they are: training makes them worse as often as better (docs/retrieval.md). */
const FEWEST_TRAINED = 200;

/**
 * Texts are the questions, then every passage.
 * @param indexFor gives the BM25 index of the passages for questions in a language
 */
export function retrievalTask(
  dataset: RetrievalDataset,
  indexFor = passageIndexes(dataset.passages),
): TrainingTask<PairHead> {
  const { passages, train, dev, isDevDrawn = false, warnings } = dataset;
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
    async trainExpert({ language, signal }) {
      const bm25 = await indexFor(language, signal);
      return { finish: (outputs, signal) => withPauses(finish(dataset, bm25, outputs), signal) };
    },
    ...(isDevDrawn && train.length + dev.length < FEWEST_TRAINED && { untrained: untrained(dataset, indexFor) }),
    describe: () => ({ id2label: {}, label2id: {}, labels: [], pooling: 'mean' }),
  };
}

/** No question was trained on, so that each can judge. */
function untrained(dataset: RetrievalDataset, indexFor: PassageIndexes): TrainingTask<PairHead> {
  const all = [...dataset.train, ...dataset.dev];
  const task = retrievalTask({ ...dataset, train: all, dev: all, isDevDrawn: false }, indexFor);
  return { ...task, examples: { train: all.length, dev: 0 } };
}

function scoresOf(ranks: readonly number[]): Scores {
  return { topk: topkScores(ranks), value: meanReciprocalRank(ranks) };
}

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
      const index = await indexFor(language, signal);
      return pairExamples(train, await mineHardNegatives(passages, train, index, { count: HARD_NEGATIVES, signal }));
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
    encoder: number,
    expert: number,
  ): Steps<PartFigures> {
    return { ...scoresOf(yield* mapSteps(dev, rankOf)), weights: { encoder, expert, bias: [] } };
  };
  const blend: Blend = {
    encoder: yield* figures(({ passage }, row) => pessimisticRank(index.scores(questions(row)), passage), 1, 0),
    expert: yield* figures(({ question, passage }) => pessimisticRank(bm25.scores(question), passage), 0, 1),
    blend: yield* figures((_, row) => rankIn(judged[row], weights), weights.vector, weights.bm25),
  };
  const files = new Map([
    [PASSAGES_FILE, encodePassages(passages)],
    [VECTORS_FILE, encodeVectors(index)],
    [POSTINGS_FILE, encodeBm25(bm25)],
  ]);
  const judgedTexts = dev.map(({ question }) => ({ text: question, labels: [] }));
  return { blend, files, judgedTexts, evaluation: yield* retrievalEvaluation({ passages, dev }, judged, weights) };
}

function rankIn(judged: JudgedCandidates | undefined, weights: RetrievalWeights): number {
  return judged === undefined ? Number.POSITIVE_INFINITY : rankOfAnswer(judged, weights);
}

export const dragonfruitTraining: FamilyTraining<RetrievalDataset> = {
  task: (dataset) => retrievalTask(dataset),
  exportedOutputs: (graph, encoder, inputs) => ({
    name: 'last_hidden_state',
    // sentence-transformers and transformers.js pool themselves.
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

/** What comes after the encoder: mean and unit length. @param maxTokens longer texts are cut to this many tokens */
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
