import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sentenceLoss } from '../../../src/lexical/crf/train-crf-expert.js';
import { probability, type SmallSentence, smallSentence } from './every-path.js';

/** A sentence and a path through it that is not forbidden, as training data never are. */
const tagged = smallSentence
  .map((sentence) => ({
    ...sentence,
    transitions: {
      start: sentence.transitions.start.map(finite),
      between: sentence.transitions.between.map(finite),
    },
  }))
  .chain((sentence) => {
    const { words, tags } = sentence;
    const path = fc.array(fc.nat({ max: tags - 1 }), { minLength: words, maxLength: words });
    return fc.record({ sentence: fc.constant(sentence), path });
  });

function finite(score: number): number {
  return Number.isFinite(score) ? score : -1;
}

const lossOf = ({ emissions, transitions }: SmallSentence, path: readonly number[]) =>
  sentenceLoss(emissions, transitions, path);

describe('the loss of a sentence', () => {
  it('is −ln of the probability of its tags', () => {
    fc.assert(
      fc.property(tagged, ({ sentence, path }) => {
        const share = probability(sentence, (other) => other.join() === path.join());
        expect(lossOf(sentence, path).loss).toBeCloseTo(-Math.log(share), 6);
      }),
    );
  });

  it('has the gradient that finite differences find', () => {
    fc.assert(
      fc.property(tagged, ({ sentence, path }) => {
        const { emissions, transitions } = lossOf(sentence, path);
        const { start, between } = sentence.transitions;
        const pairs = [
          [sentence.emissions, emissions],
          [start, transitions.start],
          [between, transitions.between],
        ] as const;
        for (const [scores, gradient] of pairs) {
          expect(gradient).toHaveLength(scores.length);
          for (const [at, slope] of gradient.entries()) {
            expect(slope).toBeCloseTo(
              slopeAt(scores, at, () => lossOf(sentence, path).loss),
              3,
            );
          }
        }
      }),
    );
  });
});

const STEP = 2 ** -10;

/** The central difference of `loss` by one score, which is left as it was. */
function slopeAt(scores: Float32Array, at: number, loss: () => number): number {
  const score = scores[at] ?? 0;
  scores[at] = score + STEP;
  const [above, loweredFrom] = [loss(), scores[at] ?? 0];
  scores[at] = score - STEP;
  const slope = (above - loss()) / (loweredFrom - (scores[at] ?? 0));
  scores[at] = score;
  return slope;
}
