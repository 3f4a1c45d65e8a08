import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TagLattice, viterbi } from '../../../src/lexical/index.js';
import { everyPath, probability, smallSentence, tiedSentence } from './every-path.js';

const FORBIDDEN = Number.NEGATIVE_INFINITY;

describe('viterbi', () => {
  it('finds a path that none outweighs, and no forbidden one', () => {
    fc.assert(
      fc.property(smallSentence, (sentence) => {
        const found = [...viterbi(sentence.emissions, sentence.transitions)];
        const paths = everyPath(sentence);
        const weight = paths.find(({ path }) => path.join() === found.join())?.weight ?? 0;
        const most = Math.max(...paths.map((path) => path.weight));
        expect(weight).toBeGreaterThan(0);
        expect(weight).toBeGreaterThan(most * (1 - 1e-9));
      }),
    );
  });

  it('takes of equal paths the one whose tag has the lower id where they last differ', () => {
    fc.assert(
      fc.property(tiedSentence, (sentence) => {
        const paths = everyPath(sentence);
        const most = Math.max(...paths.map(({ weight }) => weight));
        const best = paths.filter(({ weight }) => weight === most).map(({ path }) => path.toReversed());
        const [expected] = best.toSorted((a, b) => (a.join() < b.join() ? -1 : 1));
        expect([...viterbi(sentence.emissions, sentence.transitions)].toReversed()).toEqual(expected);
      }),
    );
    const transitions = { start: new Float32Array(3), between: new Float32Array(9) };
    expect([...viterbi(new Float32Array(6), transitions)]).toEqual([0, 0]);
  });

  it('gives no tags if there are no words', () => {
    const transitions = { start: new Float32Array(2), between: new Float32Array(4) };
    expect(viterbi(new Float32Array(0), transitions)).toEqual(new Int32Array(0));
  });
});

describe('the tag lattice', () => {
  it('sums the weights of all paths', () => {
    fc.assert(
      fc.property(smallSentence, (sentence) => {
        const { logPartition } = new TagLattice(sentence.emissions, sentence.transitions);
        const sum = everyPath(sentence).reduce((total, { weight }) => total + weight, 0);
        expect(logPartition).toBeCloseTo(Math.log(sum), 9);
      }),
    );
  });

  it('gives each tag the share of the paths through it', () => {
    fc.assert(
      fc.property(smallSentence, (sentence) => {
        const { tags, emissions, transitions } = sentence;
        const marginals = new TagLattice(emissions, transitions).marginals();
        expect(marginals).toHaveLength(emissions.length);
        for (const [at, marginal] of marginals.entries()) {
          const share = probability(sentence, (path) => path[Math.floor(at / tags)] === at % tags);
          expect(marginal).toBeCloseTo(share, 6);
        }
      }),
    );
  });

  it('counts how often each tag follows each', () => {
    fc.assert(
      fc.property(smallSentence, (sentence) => {
        const { tags, words } = sentence;
        const counts = new TagLattice(sentence.emissions, sentence.transitions).expectedTransitions();
        for (const [at, count] of counts.entries()) {
          const [from, to] = [Math.floor(at / tags), at % tags];
          let expected = 0;
          for (let word = 1; word < words; word += 1) {
            expected += probability(sentence, (path) => path[word - 1] === from && path[word] === to);
          }
          expect(count).toBeCloseTo(expected, 9);
        }
      }),
    );
  });

  it('gives a span the share of the paths that have its tags and none of those after it', () => {
    const withSpan = smallSentence.chain((sentence) =>
      fc.tuple(fc.nat({ max: sentence.words - 1 }), fc.nat({ max: 3 })).chain(([from, extra]) =>
        fc.record({
          sentence: fc.constant(sentence),
          from: fc.constant(from),
          tags: fc.array(fc.nat({ max: sentence.tags - 1 }), {
            minLength: 1,
            maxLength: Math.min(1 + extra, sentence.words - from),
          }),
          notAfter: fc.uniqueArray(fc.nat({ max: sentence.tags - 1 })),
        }),
      ),
    );
    fc.assert(
      fc.property(withSpan, ({ sentence, from, tags, notAfter }) => {
        const lattice = new TagLattice(sentence.emissions, sentence.transitions);
        const has = (path: readonly number[]) => tags.every((tag, index) => path[from + index] === tag);
        expect(lattice.spanProbability(from, tags)).toBeCloseTo(probability(sentence, has), 9);
        const share = probability(sentence, (path) => {
          const after = path[from + tags.length];
          return has(path) && (after === undefined || !notAfter.includes(after));
        });
        expect(lattice.spanProbability(from, tags, notAfter)).toBeCloseTo(share, 9);
      }),
    );
  });

  it('stays finite if the tag that leads by far may not be left', () => {
    // 2,000 nats are beyond what a double can hold as a factor: e^-745 is its end.
    const transitions = {
      start: new Float32Array(2),
      between: Float32Array.from([FORBIDDEN, FORBIDDEN, 0, 0]),
    };
    const lattice = new TagLattice(Float32Array.from([2000, 0, 1, 1]), transitions);
    expect(lattice.logPartition).toBeCloseTo(1 + Math.log(2), 9);
    expect([...lattice.marginals()]).toEqual([0, 1, 0.5, 0.5]);
  });

  it('has one empty path if there are no words', () => {
    const transitions = { start: new Float32Array(2), between: new Float32Array(4) };
    const lattice = new TagLattice(new Float32Array(0), transitions);
    expect(lattice.logPartition).toBe(0);
    expect(lattice.marginals()).toHaveLength(0);
  });
});
