import fc from 'fast-check';
import type { TagTransitions } from '../../../src/lexical/index.js';

/** A short sentence's scores, with all its paths: small enough to go through one by one. */
export interface SmallSentence {
  readonly words: number;
  readonly tags: number;
  readonly emissions: Float32Array;
  readonly transitions: TagTransitions;
}

const score = fc.float({ min: -4, max: 4, noNaN: true });
const scoreOrForbidden = fc.oneof({ weight: 3, arbitrary: score }, fc.constant(Number.NEGATIVE_INFINITY));
const scores = (length: number, of: fc.Arbitrary<number>) =>
  fc.array(of, { minLength: length, maxLength: length }).map((values) => Float32Array.from(values));

/** 1 to 4 words and 2 or 3 tags. */
const sentenceOf = (emission: fc.Arbitrary<number>, transition: fc.Arbitrary<number>): fc.Arbitrary<SmallSentence> =>
  fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 2, max: 3 })).chain(([words, tags]) =>
    fc.record({
      words: fc.constant(words),
      tags: fc.constant(tags),
      emissions: scores(words * tags, emission),
      transitions: fc.record({ start: scores(tags, transition), between: scores(tags * tags, transition) }),
    }),
  );

/** With some transitions forbidden, but at least one path open. */
export const smallSentence = sentenceOf(score, scoreOrForbidden).filter((sentence) =>
  everyPath(sentence).some(({ weight }) => weight > 0),
);

/** Scores are 0 or 1, whose sums are exact, so many paths are equal. */
export const tiedSentence = sentenceOf(fc.integer({ min: 0, max: 1 }), fc.integer({ min: 0, max: 1 }));

/** Tags of a path, and the exponential of its score. */
export interface Path {
  readonly path: readonly number[];
  readonly weight: number;
}

export function everyPath({ words, tags, emissions, transitions }: SmallSentence): Path[] {
  let paths: number[][] = [[]];
  for (let word = 0; word < words; word += 1) {
    paths = paths.flatMap((path) => Array.from({ length: tags }, (_, tag) => [...path, tag]));
  }
  const { start, between } = transitions;
  return paths.map((path) => {
    const total = path.reduce((sum, tag, word) => {
      const previous = path[word - 1];
      const transition = previous === undefined ? start[tag] : between[previous * tags + tag];
      return sum + (transition ?? Number.NaN) + (emissions[word * tags + tag] ?? Number.NaN);
    }, 0);
    return { path, weight: Math.exp(total) };
  });
}

/** Share of the weight that the paths for which `holds` is true have. */
export function probability(sentence: SmallSentence, holds: (path: readonly number[]) => boolean): number {
  const paths = everyPath(sentence);
  const sum = (of: readonly Path[]) => of.reduce((total, { weight }) => total + weight, 0);
  return sum(paths.filter(({ path }) => holds(path))) / sum(paths);
}
