import { describe, expect, it } from 'vitest';
import { tokenDecoder, typesOfTokens } from '../../../src/families/entities/token-decoding.js';
import type { Encoding, WindowOutputs } from '../../../src/text/index.js';

/** Checkpoints of transformers hold BIO to its pipelines (test/api/checkpoints.test.ts); these are worked by hand. */

const specialTokens = { pad: 0, unknown: 1, classifier: 2, separator: 3, mask: 4 };
const FIRST_ID = 10;

/** A token's text with the label that is most probable, by a share of 0.9. */
type Token = readonly [piece: string, label: string];

function decode(
  labels: readonly string[],
  text: string,
  windows: readonly (readonly Token[])[],
  { aggregation = 'simple', prefix }: { aggregation?: 'simple' | 'first'; prefix?: string } = {},
): string[] {
  const pieces = windows.flat().map(([piece]) => piece);
  const tokenizer = { specialTokens, token: (id: number) => pieces[id - FIRST_ID] };
  const decoder = tokenDecoder({ labels, aggregation, continuingPrefix: prefix, tokenizer });
  const outputs = windows.map((tokens) => windowOf(text, tokens, pieces, labels));
  const { labels: types, tokens: found = [], token_start_positions: starts = [], scores } = decoder(text, outputs);
  return types.map((type, at) => `${type} ${found[at]} ${starts[at]} ${scores[at]?.toFixed(2)}`);
}

/** Tokens are looked for from left to right, after the place of the first. */
function windowOf(text: string, tokens: readonly Token[], pieces: string[], labels: readonly string[]): WindowOutputs {
  const length = tokens.length + 2;
  const encoding: Encoding = {
    ids: new Int32Array(length),
    typeIds: new Int32Array(length),
    sequenceIds: Int32Array.from({ length }, (_, at) => (at === 0 || at === length - 1 ? -1 : 0)),
    offsets: new Int32Array(2 * length),
    truncated: 0,
  };
  const outputs = new Float32Array(length * labels.length);
  let from = 0;
  for (const [at, [piece, label]] of tokens.entries()) {
    const written = piece.replace('##', '');
    const start = text.indexOf(written, from);
    from = start + written.length;
    encoding.offsets?.set([start, from], 2 * (at + 1));
    encoding.ids[at + 1] = FIRST_ID + pieces.indexOf(piece);
    // A share of 0.9 for the label, and the rest for the others alike.
    const others = Math.log(0.1 / (labels.length - 1));
    const logits = labels.map((each) => (each === label ? Math.log(0.9) : others));
    outputs.set(logits, (at + 1) * labels.length);
  }
  return { encoding, outputs };
}

const BIO = ['O', 'B-PER', 'I-PER', 'B-LOC', 'I-LOC'];

describe('entities of labelled tokens', () => {
  it('join what continues a type, and begin at each B', () => {
    const tokens: Token[] = [
      ['Ada', 'B-PER'],
      ['Lovelace', 'I-PER'],
      ['Babbage', 'B-PER'],
      ['in', 'O'],
      ['London', 'I-LOC'],
    ];
    expect(decode(BIO, 'Ada Lovelace Babbage in London', [tokens])).toEqual([
      'PER Ada Lovelace 0 0.90',
      'PER Babbage 13 0.90',
      'LOC London 24 0.90',
    ]);
  });

  it.each([
    ['BIOES', ['O', 'B-PER', 'I-PER', 'E-PER', 'S-PER'], ['B-PER', 'I-PER', 'E-PER', 'E-PER', 'S-PER']],
    ['BILOU', ['O', 'B-PER', 'I-PER', 'L-PER', 'U-PER'], ['B-PER', 'I-PER', 'L-PER', 'L-PER', 'U-PER']],
  ])('end where %s says so', (_, labels, given) => {
    const tokens = ['a', 'b', 'c', 'd', 'e'].map((piece, at): Token => [piece, given[at] ?? '']);
    expect(decode(labels, 'a b c d e', [tokens])).toEqual(['PER a b c 0 0.90', 'PER d 6 0.90', 'PER e 8 0.90']);
    expect(typesOfTokens(labels)).toEqual(['PER']);
  });

  it.each([
    ['IO', ['O', 'I-PER', 'I-LOC'], ['I-PER', 'I-PER', 'I-LOC']],
    ['plain labels', ['O', 'PER', 'LOC'], ['PER', 'PER', 'LOC']],
  ])('read %s', (_, labels, given) => {
    const tokens = ['Ada', 'Lovelace', 'London'].map((piece, at): Token => [piece, given[at] ?? '']);
    expect(decode(labels, 'Ada Lovelace London', [tokens])).toEqual(['PER Ada Lovelace 0 0.90', 'LOC London 13 0.90']);
    expect(typesOfTokens(labels)).toEqual(['PER', 'LOC']);
  });

  it('of whole words have the label of their first token', () => {
    const tokens: Token[] = [
      ['Love', 'B-PER'],
      ['##lace', 'B-LOC'],
      ['in', 'O'],
    ];
    const text = 'Lovelace in';
    expect(decode(BIO, text, [tokens], { aggregation: 'first', prefix: '##' })).toEqual(['PER Lovelace 0 0.90']);
    expect(decode(BIO, text, [tokens], { aggregation: 'simple', prefix: '##' })).toEqual([
      'PER Love 0 0.90',
      'LOC lace 4 0.90',
    ]);
  });

  it('of words by spaces take in what no space sets apart', () => {
    const tokens: Token[] = [
      ['London', 'B-LOC'],
      ['!', 'O'],
      ['Ada', 'B-PER'],
    ];
    expect(decode(BIO, 'London! Ada', [tokens], { aggregation: 'first' })).toEqual([
      'LOC London! 0 0.90',
      'PER Ada 8 0.90',
    ]);
  });

  it('are each found once where windows overlap', () => {
    const words = ['Ada', 'x', 'Bob', 'y', 'Cid', 'z', 'Dan'];
    const tokens = words.map((word): Token => [word, word.length > 1 ? 'B-PER' : 'O']);
    const found = decode(BIO, words.join(' '), [tokens.slice(0, 5), tokens.slice(2)]);
    expect(found.map((entity) => entity.split(' ')[1])).toEqual(['Ada', 'Bob', 'Cid', 'Dan']);
  });
});
