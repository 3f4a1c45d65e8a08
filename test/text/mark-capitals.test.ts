import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodingWindows,
  loadTokenizer,
  markCapitals,
  type Tokenizer,
  vocabularyTokenizer,
} from '../../src/text/index.js';

const letters = Array.from('abcdefghijklmnopqrstuvwxyz');
const pieces = ['paris', 'na', 'phone', 'em', 'σ', 'ǆ', '𐐨', '42', '-', '東', ...letters];
const inner = ['to', 'phone', 'ile', ...letters].map((piece) => `##${piece}`);
const vocabulary = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', ...pieces, ...inner].join('\n');
const tokenizer = loadTokenizer(vocabularyTokenizer(vocabulary, {}));

/** Each piece of a text with its type, the added tokens left out. */
function typesOf(text: string): [piece: string | undefined, type: number | undefined][] {
  const { ids, typeIds } = markCapitals(text, tokenizer.encode(text));
  expect([typeIds[0], typeIds.at(-1)]).toEqual([0, 0]);
  return Array.from(ids.subarray(1, -1), (id, at) => [tokenizer.token(id), typeIds[at + 1]]);
}

describe('markCapitals', () => {
  it.each([
    ['a capital at the start', 'Paris', [['paris', 1]]],
    ['no capital', 'paris', [['paris', 0]]],
    [
      'capitals throughout',
      'NATO',
      [
        ['na', 1],
        ['##to', 1],
      ],
    ],
    [
      'a capital in the first of several pieces',
      'Nato',
      [
        ['na', 1],
        ['##to', 0],
      ],
    ],
    [
      'a capital inside a word',
      'iPhone',
      [
        ['i', 0],
        ['##phone', 1],
      ],
    ],
    ['a capital behind others of its piece', 'pARIS', [['paris', 1]]],
    [
      'an accent that is stripped',
      'Émile',
      [
        ['em', 1],
        ['##ile', 0],
      ],
    ],
    [
      'the same, decomposed',
      'E\u0301mile',
      [
        ['em', 1],
        ['##ile', 0],
      ],
    ],
    [
      'an accent on a small letter',
      'e\u0301mile',
      [
        ['em', 0],
        ['##ile', 0],
      ],
    ],
    [
      'another script',
      'Σ σ',
      [
        ['σ', 1],
        ['σ', 0],
      ],
    ],
    [
      'a title-case digraph',
      'ǅ ǆ',
      [
        ['ǆ', 1],
        ['ǆ', 0],
      ],
    ],
    [
      'two code units',
      '𐐀 𐐨',
      [
        ['𐐨', 1],
        ['𐐨', 0],
      ],
    ],
    [
      'digits, marks and scripts without case',
      '42-東',
      [
        ['42', 0],
        ['-', 0],
        ['東', 0],
      ],
    ],
    [
      'words that no piece stands for',
      'Ωω ωω',
      [
        ['[UNK]', 1],
        ['[UNK]', 0],
      ],
    ],
    ['nothing', '', []],
  ] as const)('%s: %s', (_, text, expected) => {
    expect(typesOf(text)).toEqual(expected);
  });

  it('marks every capital of ASCII texts, and changes nothing else', () => {
    const text = fc.string({
      unit: fc.constantFrom(...letters, ...letters.map((c) => c.toUpperCase()), ' ', '-'),
    });
    fc.assert(
      fc.property(text, (written) => {
        const plain = tokenizer.encode(written.toLowerCase());
        const { typeIds, ...marked } = markCapitals(written, tokenizer.encode(written));
        const { typeIds: none, ...rest } = plain;
        expect(marked).toEqual(rest);
        const capitals = Array.from(plain.ids, (_id, token) => {
          const [start = 0, end = 0] = plain.offsets?.subarray(2 * token, 2 * token + 2) ?? [];
          return Number(written.slice(start, end) !== written.toLowerCase().slice(start, end));
        });
        expect([...typeIds]).toEqual(capitals);
        expect([...none]).toEqual(capitals.map(() => 0));
      }),
    );
  });

  it('holds in every window of a long text', () => {
    const text = Array.from({ length: 30 }, (_, at) => (at % 3 === 0 ? 'A' : 'b')).join(' ');
    const windows = encodingWindows(markCapitals(text, tokenizer.encode(text)), 10, 2);
    expect(windows.length).toBeGreaterThan(3);
    for (const { sequenceIds, offsets, typeIds } of windows) {
      const isCapital = (token: number) => sequenceIds[token] === 0 && text[offsets?.[2 * token] ?? 0] === 'A';
      expect([...typeIds]).toEqual(Array.from(typeIds, (_type, token) => Number(isCapital(token))));
    }
  });

  it('leaves an encoding without offsets as it is', () => {
    const encoding: ReturnType<Tokenizer['encode']> = { ...tokenizer.encode('Paris'), offsets: null };
    expect(markCapitals('Paris', encoding)).toEqual(encoding);
  });
});
