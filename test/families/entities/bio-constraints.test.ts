import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bioConstraints } from '../../../src/families/entities/bio-tags.js';

const NEVER = Number.NEGATIVE_INFINITY;

describe('BIO constraints', () => {
  it('let an I- tag follow B- and I- of its type only', () => {
    const { start, between } = bioConstraints(['O', 'B-x', 'I-x', 'B-y', 'I-y']);
    expect([...start]).toEqual([0, 0, NEVER, 0, NEVER]);
    expect([...between]).toEqual([
      ...[0, 0, NEVER, 0, NEVER],
      ...[0, 0, 0, 0, NEVER],
      ...[0, 0, 0, 0, NEVER],
      ...[0, 0, NEVER, 0, 0],
      ...[0, 0, NEVER, 0, 0],
    ]);
  });

  it('are the same whatever the order of the tags', () => {
    const tags = ['O', 'B-x', 'I-x', 'B-y', 'I-y'];
    fc.assert(
      fc.property(fc.shuffledSubarray(tags, { minLength: 1 }), (some) => {
        const { start, between } = bioConstraints(some);
        for (const [next, tag] of some.entries()) {
          const type = tag.slice(2);
          expect(start[next]).toBe(tag.startsWith('I-') ? NEVER : 0);
          for (const [previous, before] of some.entries()) {
            const isAllowed = !tag.startsWith('I-') || before === `B-${type}` || before === `I-${type}`;
            expect(between[previous * some.length + next]).toBe(isAllowed ? 0 : NEVER);
          }
        }
      }),
    );
  });
});
