import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { describe, expect, it } from 'vitest';
import { type BertTokenizerJson, loadTokenizer, tokenizerConfig, trainWordPiece } from '../../src/text/index.js';
import { englishTexts, hardTexts, picker } from './generated-texts.js';
import { rustTokenizers, withoutRust } from './rust-tokenizers.js';

const SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];

describe('trainWordPiece', () => {
  it('merges the most frequent pair first, among equals the one with lower ids', () => {
    const texts = textsOf({ hug: 10, pug: 5, pun: 12, bun: 4, hugs: 5 });
    const json = trainWordPiece(texts, { vocabularySize: 23, lowercase: true });
    expect(vocabularyOf(json)).toEqual([
      ...SPECIAL,
      ...['b', 'g', 'h', 'n', 'p', 's', 'u', '##g', '##n', '##s', '##u'],
      '##ug', // 20
      '##un', // 16
      'hug', // 15
      'pun', // 12
      'pug', // 5, as has hug + ##s, but p comes before hug
      'hugs', // 5
      'bun', // 4
    ]);
  });

  it('agrees at every merge with counting all pairs anew', () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const counts = randomWords(seed, 60);
      const json = trainWordPiece(textsOf(counts), { vocabularySize: 150, lowercase: true });
      const expected = trainByRecounting(counts, 150);
      expect(vocabularyOf(json).slice(SPECIAL.length)).toEqual(expected.pieces);
    }
  });

  it('merges no pair that is rarer than minFrequency', () => {
    const texts = textsOf({ aaab: 3, xy: 2 });
    const longest = (minFrequency: number) =>
      vocabularyOf(trainWordPiece(texts, { vocabularySize: 100, lowercase: true, minFrequency }));
    expect(longest(3)).toContain('aaab');
    expect(longest(3)).not.toContain('xy');
    expect(longest(2)).toContain('xy');
  });

  it('gives only the most frequent characters a piece', () => {
    const json = trainWordPiece(textsOf({ a: 5, b: 4, c: 3, d: 4 }), {
      vocabularySize: 100,
      lowercase: true,
      limitAlphabet: 3,
    });
    expect(vocabularyOf(json).slice(SPECIAL.length)).toEqual(['a', 'b', 'd']);
  });

  it('never exceeds vocabularySize, however many characters there are', () => {
    const texts = hardTexts(500);
    for (const vocabularySize of [7, 20, 300]) {
      const json = trainWordPiece(texts, { vocabularySize, lowercase: false });
      expect(vocabularyOf(json).length).toBeLessThanOrEqual(vocabularySize);
    }
    expect(() => trainWordPiece(texts, { vocabularySize: 6, lowercase: true })).toThrow(RangeError);
  });

  it('gives the same vocabulary whatever the order of the texts', () => {
    const texts = [...englishTexts(200), ...hardTexts(300)];
    const options = { vocabularySize: 800, lowercase: true };
    expect(trainWordPiece(texts.toReversed(), options)).toEqual(trainWordPiece(texts, options));
  });

  it('keeps case if lowercase is false', () => {
    const texts = textsOf({ NASA: 5, nasa: 3 });
    expect(vocabularyOf(trainWordPiece(texts, { vocabularySize: 50, lowercase: false }))).toContain('NASA');
    expect(vocabularyOf(trainWordPiece(texts, { vocabularySize: 50, lowercase: true }))).not.toContain('NASA');
  });

  it('makes kana words, single ideographs, and keeps the marks of Japanese', () => {
    const texts = ['東京でラーメンが好きです。', '大阪のラーメンが有名です。', 'ギターが好きです。'];
    const json = trainWordPiece(texts, { vocabularySize: 200, lowercase: true, language: 'Japanese' });
    expect(json.normalizer.strip_accents).toBe(false);
    const tokenizer = loadTokenizer(json);
    const encoding = tokenizer.encode('大好きがギ');
    expect(Array.from(encoding.ids, (id) => tokenizer.token(id)).slice(1, 3)).toEqual(['大', '好']);
    expect(vocabularyOf(json)).toEqual(expect.arrayContaining(['ギ', '##が', 'きです']));
    expect(vocabularyOf(json)).not.toContain('東京');
  });

  it.each([
    ['english', null],
    [' French ', null],
    ['korean', false],
    ['russian', false],
    ['an unknown language', false],
  ])('strips accents only if words stay readable without them: %s', (language, expected) => {
    const json = trainWordPiece(['a'], { vocabularySize: 50, lowercase: true, language });
    expect(json.normalizer.strip_accents).toBe(expected);
  });

  it('writes a tokenizer.json that @huggingface/tokenizers reads as we do', () => {
    const texts = englishTexts(300);
    const json = trainWordPiece(texts, { vocabularySize: 400, lowercase: true });
    const theirs = new HuggingFaceTokenizer(json, tokenizerConfig(json, 128));
    const ours = loadTokenizer(json, tokenizerConfig(json, 128));
    for (const text of englishTexts(200, 7)) expect([...ours.encode(text).ids]).toEqual(theirs.encode(text).ids);
  });
});

describe.skipIf(withoutRust)('trainWordPiece against the Rust tokenizers package', () => {
  it('finds the same alphabet, and the same pieces in the same order until two pairs are equally frequent', () => {
    let compared = 0;
    for (const seed of [11, 12, 13, 14, 15, 16]) {
      const counts = randomWords(seed, 40);
      const expected = vocabularyTrainedByRust(textsOf(counts));
      // The reference lacks an order for the ## characters, so its choice among equally frequent pairs is random.
      const { pieces, merges, mergesBeforeTie } = trainByRecounting(counts, 1000);
      const alphabetSize = pieces.length - merges;
      const comparedSize = alphabetSize + mergesBeforeTie;
      const json = trainWordPiece(textsOf(counts), {
        vocabularySize: 1000,
        lowercase: true,
        minFrequency: 0,
      });
      const actual = vocabularyOf(json).slice(SPECIAL.length);
      expect(actual.slice(0, alphabetSize).sort()).toEqual(expected.slice(0, alphabetSize).sort());
      expect(actual.slice(alphabetSize, comparedSize)).toEqual(expected.slice(alphabetSize, comparedSize));
      compared += mergesBeforeTie;
    }
    expect(compared).toBeGreaterThan(60);
  });
});

describe('tokenizerConfig', () => {
  it('repeats what tokenizer.json says about case and accents', () => {
    const json = trainWordPiece(['a'], { vocabularySize: 50, lowercase: false, language: 'japanese' });
    expect(tokenizerConfig(json, 512)).toEqual({
      tokenizer_class: 'BertTokenizer',
      do_lower_case: false,
      strip_accents: false,
      tokenize_chinese_chars: true,
      model_max_length: 512,
      pad_token: '[PAD]',
      unk_token: '[UNK]',
      cls_token: '[CLS]',
      sep_token: '[SEP]',
      mask_token: '[MASK]',
    });
  });
});

function vocabularyOf({ model }: BertTokenizerJson): string[] {
  return byId(model.vocab);
}

function byId(vocabulary: Readonly<Record<string, number>>): string[] {
  return Object.entries(vocabulary)
    .sort(([, a], [, b]) => a - b)
    .map(([piece]) => piece);
}

function textsOf(counts: Readonly<Record<string, number>>): string[] {
  return Object.entries(counts).map(([word, count]) => `${word} `.repeat(count));
}

/** Words of a few letters that share many pairs, each occurring 2 to 600 times. */
function randomWords(seed: number, count: number): Record<string, number> {
  const pick = picker(seed);
  const letters = [...'abcde'];
  const word = () => Array.from({ length: pick([2, 3, 4, 5, 6]) }, () => pick(letters)).join('');
  const frequencies = Array.from({ length: 599 }, (_, index) => index + 2);
  return Object.fromEntries(Array.from({ length: count }, () => [word(), pick(frequencies)]));
}

/** The textbook algorithm: count all pairs, merge the most frequent one, begin again. */
function trainByRecounting(words: Readonly<Record<string, number>>, size: number) {
  const segmented = Object.entries(words).map(([word, count]) => ({
    count,
    symbols: Array.from(word, (letter, index) => (index === 0 ? letter : `##${letter}`)),
  }));
  const all = Object.keys(words);
  const letters = [...new Set(all.join(''))].sort();
  const inside = [...new Set(all.map((word) => word.slice(1)).join(''))].sort();
  const pieces = [...letters, ...inside.map((letter) => `##${letter}`)];
  let merges = 0;
  let mergesBeforeTie: number | undefined;
  while (pieces.length < size - SPECIAL.length) {
    const counts = new Map<string, number>();
    for (const { symbols, count } of segmented) {
      for (let i = 1; i < symbols.length; i++) {
        const pair = `${symbols[i - 1]} ${symbols[i]}`;
        counts.set(pair, (counts.get(pair) ?? 0) + count);
      }
    }
    const order = (pair: string) => pair.split(' ').map((symbol) => pieces.indexOf(symbol));
    const [best, next] = [...counts].sort(
      ([a, countA], [b, countB]) => countB - countA || comparePairs(order(a), order(b)),
    );
    if (best === undefined) break;
    if (best[1] === next?.[1]) mergesBeforeTie ??= merges;
    const [left = '', right = ''] = best[0].split(' ');
    const merged = left + right.slice(2);
    if (!pieces.includes(merged)) {
      pieces.push(merged);
      merges++;
    }
    for (const word of segmented) word.symbols = mergeIn(word.symbols, left, right, merged);
  }
  return { pieces, merges, mergesBeforeTie: mergesBeforeTie ?? merges };
}

function comparePairs([leftA = 0, rightA = 0]: number[], [leftB = 0, rightB = 0]: number[]): number {
  return leftA - leftB || rightA - rightB;
}

function mergeIn(symbols: readonly string[], left: string, right: string, merged: string): string[] {
  const result: string[] = [];
  for (let i = 0; i < symbols.length; i++) {
    const isPair = symbols[i] === left && symbols[i + 1] === right;
    result.push(isPair ? merged : (symbols[i] ?? ''));
    if (isPair) i++;
  }
  return result;
}

/** Trained with the defaults of WordPieceTrainer: 30,000 pieces, no minimum frequency, no special tokens. */
function vocabularyTrainedByRust(texts: readonly string[]): string[] {
  const { bertNormalizer, bertPreTokenizer, Tokenizer, WordPiece } = rustTokenizers();
  const directory = mkdtempSync(join(tmpdir(), 'orchard-trainer-'));
  try {
    const file = join(directory, 'texts.txt');
    writeFileSync(file, texts.join('\n'));
    const tokenizer = new Tokenizer(WordPiece.empty());
    tokenizer.setNormalizer(bertNormalizer());
    tokenizer.setPreTokenizer(bertPreTokenizer());
    tokenizer.train([file]);
    return byId(tokenizer.getVocab());
  } finally {
    rmSync(directory, { recursive: true });
  }
}
