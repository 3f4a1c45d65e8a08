import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nonspacingMarks } from '../../src/text/character-classes.js';
import { loadTokenizer, type Tokenizer, trainWordPiece, withListedPieces } from '../../src/text/index.js';
import { WordReader } from '../../src/text/word-piece-tokenizer.js';
import { anyText, characters, englishTexts, hardTexts } from './generated-texts.js';
import { differences, encodeByRust, rustTokenizer, rustTokenizers, withoutRust } from './rust-tokenizers.js';

const corpus = [...englishTexts(300), ...hardTexts(1500, 2)];
const uncased = trainWordPiece(corpus, { vocabularySize: 4000, lowercase: true, minFrequency: 1 });
const cased = trainWordPiece(corpus, { vocabularySize: 4000, lowercase: false, minFrequency: 1 });
const japanese = trainWordPiece(corpus, {
  vocabularySize: 4000,
  lowercase: true,
  minFrequency: 1,
  language: 'japanese',
});
const casedWithoutAccents = { ...cased, normalizer: { ...cased.normalizer, strip_accents: true } };
/** None of the cleaning, and a [MASK] that takes the white space around it along. */
const uncleaned = {
  ...cased,
  normalizer: { ...cased.normalizer, clean_text: false, handle_chinese_chars: false },
  added_tokens: cased.added_tokens.map((token) => ({
    ...token,
    lstrip: token.id === 4,
    rstrip: token.id === 4,
  })),
};

/**
 * The only texts that may be read differently from the reference, each kind with an example that is. All need accents
 * stripped and a mark that BERT doesn't strip (a spacing one, or one younger than Unicode 8) among marks that are not
 * in canonical order.
 */
const explained = [
  {
    reason:
      'the reference counts offsets after NFD has reordered the marks, so they name a neighbouring mark; ours name ' +
      'the character that the piece came from',
    applies: (text: string) => isReordered(decomposed(text)) && /\p{M}/u.test(unstripped(decomposed(text))),
    example: 'b\u1dcd\u08e0b',
    mayDiffer: ['offsets'],
  },
  {
    reason: 'two such marks keep their order in ours, where NFD swaps them in the reference',
    applies: (text: string) => unstripped(decomposed(text)) !== unstripped(text.normalize('NFD')),
    example: 'a\u{1e00f}\u{11235}',
    mayDiffer: ['ids', 'typeIds', 'sequenceIds', 'offsets'],
  },
];

describe.skipIf(withoutRust)('WordPieceTokenizer against the Rust tokenizers package', () => {
  it.each([
    ['uncased', uncased],
    ['cased', cased],
    ['uncased with accents', japanese],
    ['cased without accents', casedWithoutAccents],
    ['uncleaned, [MASK] taking white space along', uncleaned],
  ])('gives the same ids, types, sequences and offsets for 5,000 hard texts (%s)', async (_, json) => {
    const reference = rustTokenizer(json);
    const tokenizer = load(json);
    const { lowercase, strip_accents } = json.normalizer;
    const exceptions = (strip_accents ?? lowercase) ? explained : [];
    const texts = [...hardTexts(5000), ...englishTexts(200), ...spacedMasks];
    const unexplained: string[] = [];
    let differing = 0;
    for (const text of texts) {
      const fields = differences(plain(tokenizer, text), await encodeByRust(reference, text));
      if (fields.length > 0) differing++;
      const allowed = exceptions.filter(({ applies }) => applies(text)).flatMap(({ mayDiffer }) => mayDiffer);
      if (fields.some((field) => !allowed.includes(field))) unexplained.push(`${fields}: ${text}`);
    }
    expect(unexplained).toEqual([]);
    expect(differing).toBeLessThan(texts.length / 100);
  });

  it.each(explained)('differs where $reason', async ({ example, mayDiffer }) => {
    // No pair occurs twice, so that every character is a piece.
    const json = trainWordPiece([example], { vocabularySize: 100, lowercase: true });
    const fields = differences(plain(load(json), example), await encodeByRust(rustTokenizer(json), example));
    expect(fields).not.toEqual([]);
    expect(mayDiffer).toEqual(expect.arrayContaining(fields));
  });

  it.each([
    ['uncased', uncased],
    ['cased', cased],
  ])('splits every assigned character as the reference does (%s)', (_, { normalizer }) => {
    const { bertNormalizer, bertPreTokenizer } = rustTokenizers();
    const { lowercase } = normalizer;
    const normalize = bertNormalizer({ lowercase, stripAccents: lowercase });
    const split = bertPreTokenizer();
    const reader = new WordReader({
      cleanText: true,
      handleChineseCharacters: true,
      stripAccents: lowercase,
      lowercase,
    });
    const differing: string[] = [];
    for (const chunk of chunksOf(characters(/[^\p{Cn}\p{Cs}]/u), 64)) {
      const texts = [chunk, ...chunk.map((character) => [character])].map((some) =>
        some.map((c) => `a${c}b`).join(' '),
      );
      const expected = (text: string) => split.preTokenizeString(normalize.normalizeString(text)).map(([word]) => word);
      const [all = '', ...each] = texts;
      if (wordsOf(reader, all).join(' ') === expected(all).join(' ')) continue;
      differing.push(...each.filter((text) => wordsOf(reader, text).join(' ') !== expected(text).join(' ')));
    }
    expect(differing).toEqual([]);
  });

  it('truncates single texts and pairs as the reference does', async () => {
    const reference = rustTokenizer(uncased);
    const tokenizer = load(uncased);
    for (const maxLength of [3, 4, 7, 8]) {
      reference.setTruncation(maxLength);
      // No longer ones: the reference first cuts each text to maxLength, so that it can't tell which is the longer.
      for (const first of wordCounts(maxLength)) {
        const text = 'app '.repeat(first);
        const single = await encodeByRust(reference, text);
        expect(plain(tokenizer, text, { maxLength })).toEqual(single);
        for (const second of wordCounts(maxLength)) {
          const pair = 'phone '.repeat(second);
          const both = await encodeByRust(reference, text, pair);
          expect(plain(tokenizer, text, { maxLength, pair })).toEqual(both);
        }
      }
    }
  });
});

describe('WordPieceTokenizer', () => {
  const tokenizer = load(uncased);
  const tokens = (text: string, options?: { maxLength?: number; pair?: string }) =>
    Array.from(tokenizer.encode(text, options).ids, (id) => tokenizer.token(id));

  it('puts a single text between [CLS] and [SEP]', () => {
    const { typeIds, sequenceIds, offsets, truncated } = tokenizer.encode('The café!');
    expect(tokens('The café!')).toEqual(['[CLS]', 'the', 'cafe', '!', '[SEP]']);
    expect([...typeIds]).toEqual([0, 0, 0, 0, 0]);
    expect([...sequenceIds]).toEqual([-1, 0, 0, 0, -1]);
    expect(Array.from(offsets ?? [])).toEqual([0, 0, 0, 3, 4, 8, 8, 9, 0, 0]);
    expect(truncated).toBe(0);
  });

  it('puts a pair into one encoding, offsets counting from the start of each text', () => {
    const { typeIds, sequenceIds, offsets } = tokenizer.encode('the app', { pair: 'twice?' });
    expect(tokens('the app', { pair: 'twice?' })).toEqual(['[CLS]', 'the', 'app', '[SEP]', 'twice', '?', '[SEP]']);
    expect([...typeIds]).toEqual([0, 0, 0, 0, 1, 1, 1]);
    expect([...sequenceIds]).toEqual([-1, 0, 0, -1, 1, 1, -1]);
    expect(Array.from(offsets ?? [])).toEqual([0, 0, 0, 3, 4, 7, 0, 0, 0, 5, 5, 6, 0, 0]);
  });

  it('keeps [CLS] and [SEP] when it truncates, and says how many pieces it dropped', () => {
    expect(tokens('the old phone again', { maxLength: 4 })).toEqual(['[CLS]', 'the', 'old', '[SEP]']);
    expect(tokenizer.encode('the old phone again', { maxLength: 4 }).truncated).toBe(2);
    expect(tokens('the old phone', { maxLength: 2 })).toEqual(['[CLS]', '[SEP]']);
  });

  it('truncates the longer text of a pair first', () => {
    const { ids, truncated } = tokenizer.encode('the', { pair: 'the old phone again', maxLength: 6 });
    expect(Array.from(ids, (id) => tokenizer.token(id))).toEqual(['[CLS]', 'the', '[SEP]', 'the', 'old', '[SEP]']);
    expect(truncated).toBe(2);
  });

  it('refuses a maxLength that has no room for the special tokens', () => {
    expect(() => tokenizer.encode('the app', { maxLength: 1 })).toThrow(RangeError);
    expect(() => tokenizer.encode('the app', { maxLength: 2, pair: 'x' })).toThrow(/`maxLength` is 2.* need 3/);
  });

  it('makes an encoding of the special tokens alone from an empty text', () => {
    expect(tokens('')).toEqual(['[CLS]', '[SEP]']);
    expect(tokens(' \t\u200d\n')).toEqual(['[CLS]', '[SEP]']);
  });

  it('names with its offsets the part of the text that a piece stands for', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { ids, offsets, sequenceIds } = tokenizer.encode(text);
        let previousStart = 0;
        for (const [index, id] of ids.entries()) {
          if (sequenceIds[index] === -1) continue;
          const [start = -1, end = -1] = offsets?.subarray(2 * index, 2 * index + 2) ?? [];
          expect(start).toBeGreaterThanOrEqual(previousStart);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          previousStart = start;
          if (id < 5) continue;
          const piece = (tokenizer.token(id) ?? '').replace(/^##(?=.)/, '');
          expect(comparable(text.slice(start, end))).toContain(comparable(piece));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('keeps the start of an encoding and its special tokens, whatever the length it is cut to', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 2, max: 40 }), (text, maxLength) => {
        const whole = [...tokenizer.encode(text).ids];
        const { ids, truncated } = tokenizer.encode(text, { maxLength });
        expect(ids.length).toBe(Math.min(maxLength, whole.length));
        expect([...ids]).toEqual([...whole.slice(0, ids.length - 1), tokenizer.specialTokens.separator]);
        expect(truncated).toBe(whole.length - ids.length);
      }),
    );
  });

  it('leaves encodings as they are when later texts are encoded', () => {
    const early = tokenizer.encode('the old phone');
    const copy = [...early.ids];
    for (const text of hardTexts(500, 3)) tokenizer.encode(text);
    expect([...early.ids]).toEqual(copy);
  });

  it('reads a text of a million characters, in words or as one', () => {
    const words = tokenizer.encode('the app '.repeat(125_000));
    expect(words.ids).toHaveLength(250_002);
    expect([...words.ids.subarray(1, 3)]).toEqual([...words.ids.subarray(-3, -1)]);
    expect(tokens('x'.repeat(1_000_000))).toEqual(['[CLS]', '[UNK]', '[SEP]']);
  });
});

/** White space and look-alikes around a token that takes white space along. */
const spacedMasks = ['\ufeff', '\u0085', '\u180e', '\u2028', '\u3000', '\u001c', '\u200b', ' \t\n'].flatMap((space) => [
  `ok${space}[MASK]${space}ok`,
  `[MASK]${space}[MASK]${space}`,
]);

/** Each character decomposed by itself, its marks not yet in canonical order with those around. */
function decomposed(text: string): string {
  return Array.from(text, (character) => character.normalize('NFD')).join('');
}

function isReordered(text: string): boolean {
  return text !== text.normalize('NFD');
}

function unstripped(text: string): string {
  return Array.from(text)
    .filter((character) => !nonspacingMarks.has(character.codePointAt(0) ?? 0))
    .join('');
}

function wordCounts(upTo: number): number[] {
  return Array.from({ length: upTo + 1 }, (_, count) => count);
}

function load(json: unknown): Tokenizer {
  return loadTokenizer(json);
}

function plain(tokenizer: Tokenizer, text: string, options?: { maxLength?: number; pair?: string }) {
  const { ids, typeIds, sequenceIds, offsets } = tokenizer.encode(text, options);
  return {
    ids: [...ids],
    typeIds: [...typeIds],
    sequenceIds: [...sequenceIds],
    offsets: Array.from(offsets ?? []),
  };
}

function wordsOf(reader: WordReader, text: string): string[] {
  const words: string[] = [];
  reader.read(text);
  while (reader.next()) words.push(reader.word());
  return words;
}

/** Without case, marks and what clean_text deletes. */
function comparable(text: string): string {
  const bare = text.normalize('NFD').replace(/[\p{M}\p{C}]/gu, '');
  return Array.from(bare, (character) => character.toLowerCase()).join('');
}

function* chunksOf<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

describe('a vocabulary as a list', () => {
  it('is read as the same vocabulary', () => {
    const listed = withListedPieces(cased);
    expect(listed).toMatchObject({ model: { vocab: expect.arrayContaining(['[MASK]']) } });
    const [ours, theirs] = [loadTokenizer(listed), loadTokenizer(cased)];
    expect(ours.vocabularySize).toBe(theirs.vocabularySize);
    expect(ours.specialTokens).toEqual(theirs.specialTokens);
    for (const text of corpus.slice(0, 300)) expect(ours.encode(text)).toEqual(theirs.encode(text));
    expect(ours.token(7)).toBe(theirs.token(7));
  });

  it('is not made where an id has no piece', () => {
    const { '[MASK]': _, ...vocab } = cased.model.vocab;
    const gap = { ...cased, model: { ...cased.model, vocab } };
    expect(withListedPieces(gap)).toBe(gap);
  });
});
