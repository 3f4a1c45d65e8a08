import type { LabelledTexts, Row } from '../../../../bench/datasets/labelled-texts.js';
import type { TaggedSentence, TaggedSentences } from '../../../../bench/datasets/tagged-sentences.js';
import { entityScores } from '../../../../src/families/index.js';
import type { GraphExecutor } from '../../../../src/graph/index.js';
import { Random } from '../../../../src/system/index.js';
import { type Encoding, markCapitals, type Tokenizer } from '../../../../src/text/index.js';
import { MAX_PASSAGE_TOKENS, SEED } from '../settings.js';
import type { FrozenEncoder, TextStates } from './frozen-states.js';
import { classifyLinearly, type Examples } from './logistic-regression.js';

/** Training rows of a probe, drawn with a fixed seed if there are more. */
const MOST_TEXTS = 1000;
const MOST_SENTENCES = 2000;
const OUTSIDE = 'O';

export interface Probed {
  readonly executor: GraphExecutor;
  readonly encoder: FrozenEncoder;
  readonly tokenizer: Tokenizer;
  /** Whether it has no capitals, so that token types mark them where entities are looked for. */
  readonly lowercase: boolean;
}

/** Accuracy on dev of a logistic regression on the mean of each text's hidden states. @throws Error if texts have several labels. */
export async function probeTexts(
  { executor, encoder, tokenizer }: Probed,
  { type, labels, train, dev }: LabelledTexts,
): Promise<number> {
  if (type === 'multilabel-text-classification') throw new Error('a probe has one label for each text');
  const vectors = async (rows: readonly Row[]): Promise<Float32Array> => {
    const all = new Float32Array(rows.length * encoder.width);
    const encodings = rows.map(({ text }) => tokenizer.encode(text, { maxLength: MAX_PASSAGE_TOKENS }));
    await encoder.read(encodings, (text, states) => addMean(states, all, text * encoder.width));
    return all;
  };
  const classOf = ({ labels: [label = ''] }: Row) => labels.indexOf(label);
  const learned = Random.fromSeed(SEED).shuffle(train).slice(0, MOST_TEXTS);
  const examples: Examples = {
    width: encoder.width,
    vectors: await vectors(learned),
    classes: learned.map(classOf),
  };
  const guesses = await classifyLinearly(executor, examples, labels.length, await vectors(dev));
  return guesses.filter((guess, at) => guess === classOf(dev[at] ?? { text: '', labels: [] })).length / dev.length;
}

/** F1 over the entities of dev of a logistic regression on the state of each word's first piece. */
export async function probeWords(probed: Probed, { train, dev }: TaggedSentences): Promise<number> {
  const tags = [...new Set(train.flatMap((sentence) => sentence.tags))].sort();
  const learned = Random.fromSeed(SEED).shuffle(train).slice(0, MOST_SENTENCES);
  const words = await wordVectors(probed, learned);
  const examples: Examples = {
    width: probed.encoder.width,
    vectors: words.vectors,
    classes: words.places.map(({ sentence, word }) => tags.indexOf(learned[sentence]?.tags[word] ?? OUTSIDE)),
  };
  const asked = await wordVectors(probed, dev);
  const guesses = await classifyLinearly(probed.executor, examples, tags.length, asked.vectors);
  const predicted = dev.map((sentence) => sentence.tags.map(() => OUTSIDE));
  for (const [at, { sentence, word }] of asked.places.entries()) {
    const row = predicted[sentence];
    if (row) row[word] = tags[guesses[at] ?? 0] ?? OUTSIDE;
  }
  const truth = dev.map((sentence) => sentence.tags);
  return entityScores(predicted, truth).f1;
}

interface WordVectors {
  readonly vectors: Float32Array;
  /** Whose each vector is. Words beyond what the encoder reads have none. */
  readonly places: readonly { readonly sentence: number; readonly word: number }[];
}

async function wordVectors(
  { encoder, tokenizer, lowercase }: Probed,
  sentences: readonly TaggedSentence[],
): Promise<WordVectors> {
  const { width } = encoder;
  const encodings = sentences.map(({ words }) => {
    const text = words.join(' ');
    const encoding = tokenizer.encode(text, { maxLength: MAX_PASSAGE_TOKENS });
    return lowercase ? markCapitals(text, encoding) : encoding;
  });
  const pieces = sentences.map(({ words }, at) => firstPieces(words, encodings[at]));
  const places = pieces.flatMap((found, sentence) => [...found.keys()].map((word) => ({ sentence, word })));
  const firstVector = runningCounts(pieces.map(({ size }) => size));
  const vectors = new Float32Array(places.length * width);
  await encoder.read(encodings, (sentence, states) => {
    const first = firstVector[sentence] ?? 0;
    for (const [at, token] of [...(pieces[sentence]?.values() ?? [])].entries()) {
      vectors.set(states[token] ?? new Float32Array(width), (first + at) * width);
    }
  });
  return { vectors, places };
}

/** The first token of each word of a text of words with spaces between them. */
function firstPieces(words: readonly string[], encoding: Encoding | undefined): Map<number, number> {
  const starts = new Map<number, number>();
  let start = 0;
  for (const [word, { length }] of words.entries()) {
    starts.set(start, word);
    start += length + 1;
  }
  const found = new Map<number, number>();
  for (const [token, sequence] of encoding?.sequenceIds.entries() ?? []) {
    const word = starts.get(encoding?.offsets?.[2 * token] ?? -1);
    if (sequence === 0 && word !== undefined && !found.has(word)) found.set(word, token);
  }
  return found;
}

function runningCounts(counts: readonly number[]): number[] {
  let sum = 0;
  return counts.map((count) => {
    const before = sum;
    sum += count;
    return before;
  });
}

function addMean(states: TextStates, vectors: Float32Array, at: number): void {
  for (const state of states) {
    for (const [i, value] of state.entries()) {
      vectors[at + i] = (vectors[at + i] ?? 0) + value / states.length;
    }
  }
}
