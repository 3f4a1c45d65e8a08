import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spansOf } from '../../../src/families/entities/bio-tags.js';

function spans(tags: string) {
  return spansOf(tags.split(' ')).map(({ type, start, end }) => `${type} ${start}-${end}`);
}

describe('entities of BIO tags', () => {
  it.each([
    ['none', 'O O O', []],
    ['one word', 'O B-PER O', ['PER 1-2']],
    ['several words', 'B-PER I-PER I-PER O', ['PER 0-3']],
    ['up to the last word', 'O B-LOC I-LOC', ['LOC 1-3']],
    ['side by side, of one type', 'B-PER B-PER I-PER', ['PER 0-1', 'PER 1-3']],
    ['side by side, of two types', 'B-PER B-LOC', ['PER 0-1', 'LOC 1-2']],
    ['begun by I- at the start', 'I-PER I-PER O', ['PER 0-2']],
    ['begun by I- after O', 'O I-PER I-PER', ['PER 1-3']],
    ['begun by I- after another type', 'B-PER I-LOC I-LOC', ['PER 0-1', 'LOC 1-3']],
    ['not continued across O', 'B-PER O I-PER', ['PER 0-1', 'PER 2-3']],
    ['of a type with a hyphen', 'B-creative-work I-creative-work', ['creative-work 0-2']],
  ])('are read as conlleval reads them: %s', (_, tags, expected) => {
    expect(spans(tags)).toEqual(expected);
  });

  it('of no words are none', () => {
    expect(spansOf([])).toEqual([]);
  });

  /** conlleval's own rules (startOfChunk, endOfChunk), tag by tag. */
  function conllevalSpans(tags: readonly string[]): string[] {
    const found: string[] = [];
    let start = -1;
    let [previous, previousType] = ['O', ''];
    for (const [index, tag] of [...tags, 'O'].entries()) {
      const [position, type] = [tag.slice(0, 1), tag.slice(2)];
      const ends =
        (previous === 'B' && position === 'B') ||
        (previous === 'B' && position === 'O') ||
        (previous === 'I' && position === 'B') ||
        (previous === 'I' && position === 'O') ||
        (previous !== 'O' && previousType !== type);
      const starts =
        position === 'B' || (previous === 'O' && position === 'I') || (position !== 'O' && previousType !== type);
      if (ends) found.push(`${previousType} ${start}-${index}`);
      if (starts) start = index;
      [previous, previousType] = [position, type];
    }
    return found;
  }

  it('follow the rules of conlleval on any tags', () => {
    const tag = fc.constantFrom('O', 'B-a', 'I-a', 'B-b', 'I-b');
    fc.assert(
      fc.property(fc.array(tag, { maxLength: 12 }), (tags) => {
        expect(spansOf(tags).map(({ type, start, end }) => `${type} ${start}-${end}`)).toEqual(conllevalSpans(tags));
      }),
      { numRuns: 500 },
    );
  });
});
