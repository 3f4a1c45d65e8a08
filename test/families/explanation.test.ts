import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { slopeOf } from '../../src/families/classification/decoder.js';
import { labelProbabilities } from '../../src/families/classification/probabilities.js';
import { MAX_LEFT_OUT, spansToLeaveOut, textWithout } from '../../src/families/explanation.js';
import { splitWords } from '../../src/families/words.js';

describe('words that are left out', () => {
  it('are each of a short text, and of a long one all, in as many spans as are read at most', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2000 }), (words) => {
        const spans = spansToLeaveOut(words);
        expect(spans.length).toBeLessThanOrEqual(MAX_LEFT_OUT);
        expect(spans.flatMap(({ first, end }) => Array.from({ length: end - first }, (_, at) => first + at))).toEqual(
          Array.from({ length: words }, (_, at) => at),
        );
        if (words <= MAX_LEFT_OUT) expect(spans).toHaveLength(words);
      }),
    );
  });

  it('leave the others as they were', () => {
    const text = 'It is not  good, sadly.';
    const words = splitWords(text, 'punctuation');
    const without = spansToLeaveOut(words.length).map((span) => textWithout(text, words, span));
    expect(without).toEqual([
      ' is not  good, sadly.',
      'It not  good, sadly.',
      'It is  good, sadly.',
      'It is not, sadly.',
      'It is not  good sadly.',
      'It is not  good,.',
      'It is not  good, sadly',
    ]);
  });
});

describe('the slope of a label’s log-odds', () => {
  const logOdds = (logits: Float32Array, label: number, labels: number, link: 'softmax' | 'sigmoid') => {
    const p = labelProbabilities(logits, { link, labels })[label] ?? 0;
    return Math.log(p / (1 - p));
  };
  it.each([
    ['softmax', 4, 4],
    ['sigmoid', 3, 3],
    ['sigmoid', 1, 2],
  ] as const)('is that of finite differences: %s, %i outputs', (link, outputs, labels) => {
    const logits = Float32Array.from({ length: outputs }, (_, at) => Math.sin(3 * at + 1));
    for (let label = 0; label < labels; label += 1) {
      const slope = slopeOf(logits, label, link);
      for (let output = 0; output < outputs; output += 1) {
        const [above, below] = [1e-2, -1e-2].map((by) =>
          logOdds(
            logits.map((each, at) => (at === output ? each + by : each)),
            label,
            labels,
            link,
          ),
        );
        expect(slope[output]).toBeCloseTo(((above ?? 0) - (below ?? 0)) / 2e-2, 2);
      }
    }
  });
});
