import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MeasuredTexts } from '../../models/recipes/backbones/corpus/measured-texts.js';
import { passagesOf, randomAims } from '../../models/recipes/backbones/corpus/passages.js';
import { sentencesOf } from '../../models/recipes/backbones/corpus/sentences.js';
import { MAX_PASSAGE_TOKENS } from '../../models/recipes/backbones/settings.js';
import { Random } from '../../src/system/numbers.js';
import { englishTokenizer, loadTokenizer } from '../../src/text/index.js';

const tokenizer = loadTokenizer(englishTokenizer());
const passages = (sentences: readonly string[], seed = 1) => [
  ...passagesOf(sentences, tokenizer, randomAims(Random.fromSeed(seed))),
];

describe('sentences of a text', () => {
  it('end at full stops and at line ends', () => {
    expect(sentencesOf('A title\nIt begins. It ends!\n\n')).toEqual(['A title', 'It begins.', 'It ends!']);
  });
});

describe('passages of a document', () => {
  const words = fc.constantFrom('the', 'cat', 'unbelievable', 'ran', 'away', 'quickly');
  const sentence = fc.array(words, { minLength: 3, maxLength: 12 }).map((chosen) => chosen.join(' '));

  it('hold every sentence once, whole and in order, and no more tokens than the student reads', () => {
    fc.assert(
      fc.property(fc.array(sentence, { maxLength: 20 }), fc.nat(100), (sentences, seed) => {
        const found = passages(sentences, seed);
        expect(found.join(' ')).toBe(sentences.join(' '));
        for (const each of found) {
          expect(tokenizer.encode(each).ids.length).toBeLessThanOrEqual(MAX_PASSAGE_TOKENS);
        }
      }),
    );
  });

  it('cut a sentence that is longer than any passage', () => {
    const long = Array(150).fill('the').join(' ');
    const found = passages([long]);
    expect(found.map((each) => each.split(' ').length)).toEqual([62, 62, 26]);
  });

  it('are of many lengths', () => {
    const lengths = passages(Array.from({ length: 400 }, () => 'The cat ran away.')).map(({ length }) => length);
    expect(Math.max(...lengths)).toBeGreaterThan(3 * Math.min(...lengths));
  });

  it('leave out what says too little', () => {
    expect(passages(['Oh.'])).toEqual([]);
    expect(passages(['The cat ran.'])).toEqual(['The cat ran.']);
  });
});

describe('texts that models are measured on', () => {
  const measured = new MeasuredTexts(['Thank you!', 'Fine. I would like to know where my card is now.']);

  it('are known whatever their case, spacing and punctuation', () => {
    expect(measured.has('thank  you')).toBe(true);
    expect(measured.has('FINE - I would like to know where my card is now')).toBe(true);
  });

  it('are known by each of their sentences that is long enough to tell', () => {
    expect(measured.has('I would like to know where my card is now?')).toBe(true);
    expect(measured.has('fine')).toBe(false);
  });

  it('are not confused with others', () => {
    expect(measured.has('I would like to know where my card was.')).toBe(false);
  });
});
