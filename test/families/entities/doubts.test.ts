import { describe, expect, it } from 'vitest';
import type { TagDoubt } from '../../../src/datasets/index.js';
import { sequenceRows } from '../../../src/families/entities/rows.js';
import { answerWithDoubts, meanDoubts, taggedSentence } from '../../../src/families/entities/tagged-sentence.js';
import { tokenDecoder } from '../../../src/families/entities/token-decoding.js';
import { augmentSentences, grapefruitTraining, sequenceHead } from '../../../src/families/entities/training.js';
import type { Encoding, WindowOutputs } from '../../../src/text/index.js';

/** Probabilities of tags, from a teacher's tokens to the words of a student. All of it is worked by hand. */

// Ë is two units here, the emoji are five, and the student reads 東京 as one word.
const text = 'Zoe\u0308 👩‍🚀Wolfgang, 東京都に住む.';
const words = ['Zoe\u0308', '👩‍🚀Wolfgang', ',', '東京', '都', 'に', '住む', '.'];

/** A token's place, and the probabilities of labels. O has the rest. */
type Token = readonly [start: number, end: number, shares?: Readonly<Record<string, number>>];

/** A teacher that labels these tokens, and its answer. */
function answerOf(labels: readonly string[], tokens: readonly Token[]) {
  const length = tokens.length + 2;
  const encoding: Encoding = {
    ids: new Int32Array(length).fill(10),
    typeIds: new Int32Array(length),
    sequenceIds: Int32Array.from({ length }, (_, at) => (at === 0 || at === length - 1 ? -1 : 0)),
    offsets: Int32Array.from([[0, 0], ...tokens.map(([start, end]) => [start, end]), [0, 0]].flat()),
    truncated: 0,
  };
  const outputs = new Float32Array(length * labels.length);
  for (const [at, [, , shares = {}]] of tokens.entries()) {
    const rest = 1 - Object.values(shares).reduce((sum, each) => sum + each, 0);
    const logits = labels.map((label) => Math.log((label === 'O' ? rest : shares[label]) || 1e-30));
    outputs.set(logits, (at + 1) * labels.length);
  }
  const specialTokens = { pad: 0, unknown: 1, classifier: 2, separator: 3, mask: 4 };
  const tokenizer = { specialTokens, token: () => undefined };
  const decoder = tokenDecoder({ labels, aggregation: 'simple', continuingPrefix: undefined, tokenizer });
  const window: WindowOutputs = { encoding, outputs };
  const { labels: types, doubts = [], ...found } = answerWithDoubts(decoder, text, [window]);
  const entities = types.map((type, at) => {
    const start = found.token_start_positions?.[at] ?? 0;
    return { start, end: start + (found.tokens?.[at]?.length ?? 0), type };
  });
  return { entities, doubts };
}

/** Tokens of nothing, of a space, and with the space before them; parts of emoji, of letters and of Japanese words. */
const bytes = answerOf(
  ['O', 'B-PER', 'I-PER', 'B-LOC', 'I-LOC'],
  [
    [0, 3, { 'B-PER': 0.6 }],
    [3, 4, { 'I-PER': 0.9 }],
    [4, 4, { 'B-LOC': 0.5 }],
    [4, 5, { 'B-LOC': 0.5 }],
    [4, 7, { 'B-PER': 0.3 }],
    [7, 10, { 'I-PER': 0.3 }],
    [10, 18, { 'B-PER': 0.8 }],
    [18, 19],
    [19, 21, { 'B-LOC': 0.75 }],
    [21, 22, { 'I-LOC': 0.7 }],
    [22, 23, { 'I-LOC': 0.5001 }],
    [23, 26, { 'B-PER': 0.1 }],
    [26, 27, { 'B-PER': 0.005 }],
  ],
);
/** Whole words, with labels that don't say where an entity begins. */
const wholes = answerOf(
  ['O', 'PER', 'LOC'],
  [
    [0, 4, { PER: 0.6 }],
    [5, 10, { PER: 0.4 }],
    [10, 18, { PER: 0.3 }],
    [18, 19],
    [20, 23, { LOC: 0.8 }],
    [23, 26],
    [26, 27],
  ],
);

/** By word, to two decimals; `certain` where nothing is doubted. */
function sharesOf(answer: Parameters<typeof taggedSentence>[0]) {
  const { shares = [], words: read } = taggedSentence(answer);
  const shown = shares.map((each) =>
    each === undefined
      ? 'certain'
      : Object.entries(each)
          .filter(([, share]) => share > 0.001)
          .map(([tag, share]) => `${tag} ${share.toFixed(2)}`)
          .sort()
          .join(' '),
  );
  return Object.fromEntries(read.map((word, at) => [word, shown[at]]));
}

describe('doubts about tags', () => {
  it('come to the words of the student by their first characters, from any tokens', () => {
    expect(taggedSentence({ text, entities: [] }).words).toEqual(words);
    expect(sharesOf({ text, ...bytes })).toMatchObject({
      'Zoe\u0308': 'B-PER 0.60 O 0.40',
      // The space before the token is not a part of it.
      ',': 'certain',
      東京: 'B-LOC 0.75 O 0.25',
      都: 'I-LOC 0.50 O 0.50',
      に: 'B-PER 0.10 O 0.90',
      // The student reads the token as two words: the second continues what the first begins.
      住む: 'I-PER 0.10 O 0.90',
      '.': 'certain',
    });
    // Here the teacher's entity begins within the student's word, which is cut there.
    expect(sharesOf({ text, ...bytes })).toMatchObject({ '👩‍🚀': 'B-PER 0.30 O 0.70', Wolfgang: 'B-PER 0.80 O 0.20' });
    expect(sharesOf({ text, ...wholes })).toEqual({
      'Zoe\u0308': 'B-PER 0.60 O 0.40',
      '👩‍🚀Wolfgang': 'I-PER 0.40 O 0.60',
      ',': 'certain',
      東京: 'B-LOC 0.80 O 0.20',
      都: 'I-LOC 0.80 O 0.20',
      に: 'certain',
      住む: 'certain',
      '.': 'certain',
    });
  });

  it('are kept only for words whose tags are not certain, with four decimals', () => {
    expect(bytes.doubts.map(({ start }) => start)).toEqual([0, 3, 4, 7, 10, 19, 21, 22, 23]);
    // The space before a token is no part of its word, which is certain.
    expect(answerOf(['O', 'B-LOC'], [[19, 23, { 'B-LOC': 0.995 }]]).doubts).toEqual([]);
    expect(bytes.doubts.at(-2)).toEqual({ start: 22, end: 23, tags: { O: 0.4999, 'I-LOC': 0.5001 } });
  });

  it.each([
    ['BIO', ['O', 'B-PER', 'I-PER'], { 'B-PER': 0.3, 'I-PER': 0.4 }, { 'B-PER': 0.3, 'I-PER': 0.4 }],
    ['IO', ['O', 'PER'], { PER: 0.7 }, { 'B-PER': 0.1, 'I-PER': 0.6 }],
    [
      'BIOES',
      ['O', 'B-PER', 'I-PER', 'E-PER', 'S-PER'],
      { 'B-PER': 0.1, 'I-PER': 0.2, 'E-PER': 0.2, 'S-PER': 0.2 },
      { 'B-PER': 0.3, 'I-PER': 0.4 },
    ],
  ])('are those of BIO tags, with labels in %s', (_, labels, shares, expected) => {
    // The word before is of the type with a probability of 0.6.
    const first = labels.includes('PER') ? { PER: 0.6 } : { 'B-PER': 0.6 };
    const [, second] = answerOf(labels, [
      [0, 4, first],
      [5, 18, shares],
    ]).doubts;
    expect(second?.tags).toEqual({ O: 0.3, ...expected });
  });

  it('let nothing continue an entity that has ended', () => {
    const labels = ['O', 'B-PER', 'I-PER', 'E-PER', 'S-PER'];
    const [, second] = answerOf(labels, [
      [0, 4, { 'B-PER': 0.2, 'S-PER': 0.7 }],
      [5, 18, { 'E-PER': 0.6 }],
    ]).doubts;
    expect(second?.tags).toEqual({ O: 0.4, 'B-PER': 0.4, 'I-PER': 0.2 });
  });

  it('of several teachers are averaged, and a teacher without a doubt is certain of its entities', () => {
    const sure = { entities: [{ start: 20, end: 23, type: 'LOC' }], doubts: [] };
    const entities = [{ start: 20, end: 23, type: 'LOC' }];
    const doubts = meanDoubts(text, entities, [bytes, wholes, sure]);
    const tagsOf = (start: number) => doubts.find((each) => each.start === start)?.tags;
    expect(tagsOf(0)).toEqual({ 'B-PER': 0.4, O: 0.6 });
    // (0.75 + 0.8 + 1) / 3
    expect(tagsOf(20)).toEqual({ 'B-LOC': 0.85, O: 0.15 });
    // (0.5001 + 0.8 + 1) / 3
    expect(tagsOf(22)).toEqual({ 'I-LOC': 0.7667, O: 0.2333 });
    // (0.1 + 0 + 0) / 3
    expect(tagsOf(24)).toEqual({ 'I-PER': 0.0333, O: 0.9667 });
    expect(tagsOf(18)).toBeUndefined();
  });
});

const doubted = (start: number, end: number, tags: TagDoubt['tags']) => ({ start, end, tags });

describe('rows with doubts', () => {
  const person = { start: 0, end: 3, type: 'PER' };
  const rows = [
    { text: 'Ada left', entities: [person], doubts: [doubted(0, 3, { 'B-PER': 0.75, 'B-ORG': 0.2, O: 0.05 })] },
    { text: 'Bob left', entities: [person], doubts: [doubted(4, 8, { 'B-ORG': 1 })] },
    { text: 'Cid left', entities: [person] },
  ];
  const table = { checked: { shape: 'entities', rows }, origin: 'rows' } as const;

  it('keep probabilities of the tags that the model has, scaled to 1', async () => {
    const { dataset } = await sequenceRows.check({ train: table, dev: table }, 'named-entity-recognition');
    expect(dataset.train).toEqual([
      { words: ['Ada', 'left'], tags: [1, 0], shares: [[0.0625, 0.9375, 0], undefined] },
      { words: ['Bob', 'left'], tags: [1, 0], shares: [undefined, undefined] },
      { words: ['Cid', 'left'], tags: [1, 0] },
    ]);
    expect(() => sequenceRows.write(dataset, 'names')).toThrow('an archive has no place for them');
  });

  it('are copied with the doubts about the words that stay', () => {
    const tags = ['O', 'B-PER', 'I-PER'];
    const unsure = [0.4, 0.3, 0.3];
    const sentences = ['Ada', 'Bob', 'Cid', 'Dan'].map((name) => ({
      ...{ words: [name, 'left', 'Rome'], tags: [1, 0, 0], shares: [[0.1, 0.9, 0], unsure, undefined] },
    }));
    const copies = augmentSentences(sentences, tags, { seed: 1, lowercase: false });
    for (const { shares } of copies.slice(0, 4)) expect(shares).toEqual([undefined, unsure, undefined]);
    for (const { shares } of copies.slice(4)) expect(shares).toEqual([[0.1, 0.9, 0], unsure, undefined]);
    expect(copies.length).toBeGreaterThan(4);
  });
});

describe('the targets of a doubted word', () => {
  const tags = ['O', 'B-X', 'I-X'];
  const sentence = { words: ['aa', 'bb'], tags: [1, 0], shares: [[0.25, 0.75, 0], undefined] };
  const encoding: Encoding = {
    ...{ ids: new Int32Array(4), typeIds: new Int32Array(4), truncated: 0 },
    sequenceIds: Int32Array.of(-1, 0, 0, -1),
    offsets: Int32Array.of(0, 0, 0, 2, 3, 5, 0, 0),
  };
  const dataset = { tags, train: [sentence], dev: [], warnings: [] };
  const targetsOf = (head: ReturnType<typeof sequenceHead>, options: { labelSmoothing: number; balanced: boolean }) => {
    const { feeds, weight } = head.targets([{ row: 0, encoding }], options);
    return { weight, values: Array.from(feeds.targets?.data ?? [], Number).map((value) => Number(value.toFixed(6))) };
  };

  it('are its probabilities', () => {
    const { values, weight } = targetsOf(sequenceHead(dataset), { labelSmoothing: 0, balanced: false });
    expect(values).toEqual([0, 0, 0, 0.125, 0.375, 0, 0.5, 0, 0, 0, 0, 0]);
    expect(weight).toBe(2);
  });

  it('are smoothed, and weighted by how rare tags are', () => {
    const smooth = targetsOf(sequenceHead(dataset), { labelSmoothing: 0.3, balanced: false });
    expect(smooth.values.slice(3, 6)).toEqual([0.1375, 0.3125, 0.05]);
    // Of 2 words in 3 tags, each tag that occurs weighs 2 / (3 · 1): both words count 2/3, and I-X, which none has, as much.
    const balanced = targetsOf(sequenceHead(dataset), { labelSmoothing: 0, balanced: true });
    expect(balanced.weight).toBeCloseTo(4 / 3, 6);
    expect(balanced.values.slice(3, 6)).toEqual([0.125, 0.375, 0]);
    // With a third word of O: O weighs 3 / (3 · 2) and B-X 1. The doubted word counts 0.25 · 0.5 + 0.75, and the next 0.5.
    const longer = { ...sentence, words: ['aa', 'bb', 'cc'], tags: [1, 0, 0], shares: [...sentence.shares, undefined] };
    const uneven = targetsOf(sequenceHead({ ...dataset, train: [longer] }), { labelSmoothing: 0, balanced: true });
    expect(uneven.weight).toBeCloseTo(1.375, 6);
    expect(uneven.values.slice(3, 6)).toEqual([0.125 / 1.375, 0.75 / 1.375, 0].map((each) => Number(each.toFixed(6))));
  });

  it('follow the order of tags of a checkpoint whose head is continued', () => {
    const checkpoint = { per: 'token', labels: ['I-X', 'O', 'B-X'], problem: undefined } as const;
    const { head } = grapefruitTraining.task(dataset, checkpoint);
    if (head.kind !== 'rows') throw new TypeError('the head is of another kind');
    const { values } = targetsOf(head, { labelSmoothing: 0, balanced: false });
    expect(values.slice(3, 9)).toEqual([0, 0.125, 0.375, 0, 0.5, 0]);
  });
});
