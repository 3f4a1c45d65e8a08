import { describe, expect, it } from 'vitest';
import { augmentSentences } from '../../../src/families/grapefruit/augment-sentences.js';
import type { TaggedSentence } from '../../../src/families/grapefruit/sequence-dataset.js';

const TAGS = ['O', 'B-LOC', 'I-LOC'];

/** A town that no other sentence names, and words that no mention has. */
const townIn = (index: number): TaggedSentence => ({
  words: ['Then', 'to', `Town${index}`],
  tags: [0, 0, 1],
});
const plain: TaggedSentence = { words: ['So', 'it', 'Is'], tags: [0, 0, 0] };

const repeated = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index));

type Case = 'lower' | 'capitals' | 'as written';
function caseOf({ words }: TaggedSentence): Case {
  const text = words.join(' ');
  if (text === text.toLowerCase()) return 'lower';
  return text === text.toUpperCase() ? 'capitals' : 'as written';
}

describe('augmentSentences', () => {
  it('gives a copy of each sentence with another mention, some in lower case or in capitals', () => {
    const sentences = repeated(1000, townIn);
    const copies = augmentSentences(sentences, TAGS, { seed: 1, lowercase: false });
    expect(copies).toHaveLength(1000);
    const counts = { lower: 0, capitals: 0, 'as written': 0 };
    for (const [row, copy] of copies.entries()) {
      counts[caseOf(copy)] += 1;
      expect(copy.tags).toEqual([0, 0, 1]);
      expect(copy.words.slice(0, 2).join(' ').toLowerCase()).toBe('then to');
      expect(copy.words[2]?.toLowerCase()).toMatch(/^town\d+$/);
      expect(copy.words[2]?.toLowerCase()).not.toBe(`town${row}`);
    }
    // 400, 200 and 400 are expected, with a standard error of at most 16.
    expect(counts.lower).toBeGreaterThan(340);
    expect(counts.lower).toBeLessThan(460);
    expect(counts.capitals).toBeGreaterThan(140);
    expect(counts.capitals).toBeLessThan(260);
  });

  it('copies sentences without mentions, too, where it changes their case', () => {
    const copies = augmentSentences(
      repeated(100, () => plain),
      TAGS,
      { seed: 1, lowercase: false },
    );
    const texts = new Set(copies.map(({ words }) => words.join(' ')));
    expect(texts).toEqual(new Set(['so it is', 'SO IT IS']));
    expect(copies.every(({ tags }) => tags.join() === '0,0,0')).toBe(true);
  });

  it('leaves the case to models that tell none from another', () => {
    const sentences = [...repeated(50, townIn), plain];
    const copies = augmentSentences(sentences, TAGS, { seed: 1, lowercase: true });
    expect(copies.map(({ words }) => words.slice(0, 2).join(' '))).toEqual(repeated(50, () => 'Then to'));
  });

  it('copies nothing of a script without case that has no mention', () => {
    const sentence = { words: ['東京', 'へ'], tags: [0, 0] };
    expect(
      augmentSentences(
        repeated(50, () => sentence),
        TAGS,
        { seed: 1, lowercase: false },
      ),
    ).toEqual([]);
  });

  it('gives the same copies for the same seed, others for another', () => {
    const copies = (seed: number) => augmentSentences(repeated(30, townIn), TAGS, { seed, lowercase: false });
    expect(copies(1)).toEqual(copies(1));
    expect(copies(1)).not.toEqual(copies(2));
  });
});
