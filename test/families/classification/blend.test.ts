import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type BlendRows,
  blendLogits,
  fitBlend as fitBlendSteps,
  fitBlendWeights as fitBlendWeightsSteps,
  heldOutPrior,
  labelThresholds as labelThresholdsSteps,
} from '../../../src/families/classification/calibration.js';
import { balancedWeights } from '../../../src/families/classification/targets.js';
import { expectedCalibrationError } from '../../../src/families/evaluation.js';
import { Random } from '../../../src/system/numbers.js';
import { atOnce, inOneStep } from '../../support/at-once.js';

const fitBlend = atOnce(fitBlendSteps);

const labelThresholds = atOnce(labelThresholdsSteps);

const fitBlendWeights = atOnce(fitBlendWeightsSteps);

const both = ['encoder', 'expert', 'bias'] as const;

/** Rows whose labels are drawn from the model that encoder and expert make together with these weights. */
function drawnRows(link: BlendRows['link'], rows: number, weights: { encoder: number; expert: number; bias: number }) {
  const random = Random.fromSeed(3);
  const outputs = 3;
  const encoder = Float32Array.from({ length: rows * outputs }, () => 2 * random.normal());
  const expert = Float32Array.from({ length: rows * outputs }, () => 0.5 * random.normal());
  const logits = blendLogits({ ...weights, bias: [weights.bias] }, encoder, expert);
  const targets = new Uint8Array(rows * outputs);
  for (let row = 0; row < rows; row += 1) {
    const mine = [...logits.subarray(row * outputs, (row + 1) * outputs)];
    if (link === 'sigmoid') {
      for (const [at, logit] of mine.entries()) {
        targets[row * outputs + at] = random.uniform() < 1 / (1 + Math.exp(-logit)) ? 1 : 0;
      }
      continue;
    }
    const sum = mine.reduce((total, logit) => total + Math.exp(logit), 0);
    let left = random.uniform() * sum;
    const drawn = mine.findIndex((logit) => {
      left -= Math.exp(logit);
      return left <= 0;
    });
    targets[row * outputs + Math.max(0, drawn)] = 1;
  }
  return { link, outputs, encoder, expert, targets };
}

describe('fitBlendWeights', () => {
  it.each(['softmax', 'sigmoid'] as const)('finds the weights that %s labels were drawn with', (link) => {
    const weights = { encoder: 0.7, expert: 3, bias: link === 'sigmoid' ? -1 : 0 };
    const fitted = fitBlendWeights(drawnRows(link, 8000, weights), both);
    expect(fitted.encoder).toBeCloseTo(weights.encoder, 1);
    expect(Math.abs(fitted.expert - weights.expert)).toBeLessThan(0.15);
    expect(fitted.bias).toHaveLength(3);
    expect(Math.abs((fitted.bias[0] ?? 0) - weights.bias)).toBeLessThan(0.1);
  });

  it('gives a useless expert no weight, and never one below 0', () => {
    const rows = drawnRows('softmax', 4000, { encoder: 1, expert: -3, bias: 0 });
    const fitted = fitBlendWeights(rows, both);
    expect(fitted.expert).toBe(0);
    expect(fitted.encoder).toBeGreaterThan(0.5);
  });

  it('gives weights that are not fitted the value 0', () => {
    const rows = drawnRows('sigmoid', 500, { encoder: 1, expert: 3, bias: 0 });
    expect(fitBlendWeights(rows, ['expert', 'bias']).encoder).toBe(0);
  });

  it('stays near the starting weights if there are only two rows, however certain they are', () => {
    const rows: BlendRows = {
      link: 'softmax',
      outputs: 2,
      encoder: Float32Array.of(9, -9, -9, 9),
      expert: Float32Array.of(1, -1, -1, 1),
      targets: Uint8Array.of(1, 0, 0, 1),
    };
    const fitted = fitBlendWeights(rows, both);
    expect(fitted.encoder / heldOutPrior.encoder.start).toBeGreaterThan(0.9);
    expect(fitted.encoder / heldOutPrior.encoder.start).toBeLessThan(1.2);
    expect(fitted.expert / heldOutPrior.expert.start).toBeLessThan(1.2);
  });

  it('is finite for any outputs', () => {
    const numbers = fc.array(fc.float({ min: -1000, max: 1000, noNaN: true }), {
      minLength: 12,
      maxLength: 12,
    });
    fc.assert(
      fc.property(numbers, numbers, fc.constantFrom('softmax' as const, 'sigmoid' as const), (a, b, link) => {
        const targets = Uint8Array.from({ length: 12 }, (_, at) => (at % 3 === 0 ? 1 : 0));
        const rows = {
          link,
          outputs: 3,
          encoder: Float32Array.from(a),
          expert: Float32Array.from(b),
          targets,
        };
        const { encoder, expert, bias } = fitBlendWeights(rows, both);
        for (const weight of [encoder, expert, ...bias]) expect(Number.isFinite(weight)).toBe(true);
        expect(Math.min(encoder, expert)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe('expectedCalibrationError, by hand', () => {
  it('is the gap between confidence and accuracy, bin by bin', () => {
    // Bin of 0.9: two decisions, one right: |1 − 1.8| = 0.8. Bin of 0.55: one, right: 0.45. Together 1.25 / 3.
    const decisions = [
      { confidence: 0.9, right: true },
      { confidence: 0.9, right: false },
      { confidence: 0.55, right: true },
    ];
    expect(expectedCalibrationError(decisions)).toBeCloseTo(1.25 / 3, 12);
  });

  it('is 0 for a model that is always certain and right, and if nothing was decided', () => {
    expect(expectedCalibrationError([{ confidence: 1, right: true }])).toBe(0);
    expect(expectedCalibrationError([])).toBe(0);
  });
});

describe('labelThresholds', () => {
  it('finds the best threshold of a frequent label, even far from 0.5', () => {
    const rows = 400;
    const probabilities = new Float64Array(2 * rows);
    const targets = new Uint8Array(2 * rows);
    for (let row = 0; row < rows; row += 1) {
      const on = row % 2 === 0;
      probabilities[2 * row] = on ? 0.3 : 0.1;
      probabilities[2 * row + 1] = on ? 0.9 : 0.7;
      targets.fill(on ? 1 : 0, 2 * row, 2 * row + 2);
    }
    const [low = 0, high = 0] = labelThresholds({ labels: 2, probabilities, targets });
    expect(low).toBeGreaterThanOrEqual(0.1);
    expect(low).toBeLessThan(0.3);
    expect(high).toBeGreaterThanOrEqual(0.7);
    expect(high).toBeLessThan(0.9);
  });

  it('lets a rare label follow the others', () => {
    // Label 0 has 100 rows, best cut below 0.4; label 1 a single one, which alone would ask for a cut at 0.8.
    const rows = 200;
    const probabilities = new Float64Array(2 * rows).fill(0.1);
    const targets = new Uint8Array(2 * rows);
    for (let row = 0; row < 100; row += 1) {
      probabilities[2 * row] = 0.4;
      targets[2 * row] = 1;
    }
    probabilities[1] = 0.9;
    probabilities[3] = 0.8;
    targets[1] = 1;
    const [, rare = 1] = labelThresholds({ labels: 2, probabilities, targets });
    expect(rare).toBeLessThan(0.4);
  });
});

describe('fitBlend', () => {
  it('moves the thresholds of a multilabel model to 0.5, and reports each part', () => {
    const rows = drawnRows('sigmoid', 600, { encoder: 1, expert: 3, bias: -2 });
    const blend = fitBlend({
      ...rows,
      multilabel: true,
      score: inOneStep((logits: Float32Array) => {
        const on = [...logits].map((logit) => (logit > 0 ? 1 : 0));
        const right = on.filter((each, at) => each === rows.targets[at]).length;
        return { f1: 0, value: right / on.length };
      }),
    });
    expect(blend.blend.value).toBeGreaterThan(blend.expert.value);
    expect(blend.encoder.weights.expert).toBe(0);
    expect(blend.expert.weights.encoder).toBe(0);
    // Labels are rare, so F1 asks for cuts below one half: the bias rises above that of the calibration, about −2.
    expect(Math.min(...blend.blend.weights.bias)).toBeGreaterThan(-1.9);
    expect(blend.blend.calibration_error?.after).toBeLessThan(0.05);
  });

  // 600 dev rows: at 0.5, the standard error of a mean is 0.0204.
  it.each([
    { better: 0.52, taken: 'the likeliest mixture', value: 0.5 },
    { better: 0.521, taken: 'the better one', value: 0.521 },
  ])('takes $taken of a multilabel model at 0.5 and $better', ({ better, value }) => {
    const rows = drawnRows('sigmoid', 600, { encoder: 1, expert: 3, bias: -2 });
    // Encoder, expert, likeliest mixture, and three that lean to one of them.
    const values = [0.4, 0.4, 0.5, 0.3, better, 0.3];
    const score = inOneStep(() => ({ f1: 0, value: values.shift() ?? 0 }));
    expect(fitBlend({ ...rows, multilabel: true, score }).blend.value).toBe(value);
    expect(values).toEqual([]);
  });
});

describe('balancedWeights', () => {
  it('grow with the root of a label’s rarity', () => {
    const active = [...Array.from({ length: 90 }, () => [0]), ...Array.from({ length: 10 }, () => [1])];
    const [frequent, rare] = balancedWeights(
      active.map((ids) => ({ active: ids })),
      2,
    );
    expect(frequent?.active).toBeCloseTo(Math.sqrt(50 / 90), 12);
    expect(rare?.active).toBeCloseTo(Math.sqrt(50 / 10), 12);
    expect(rare?.inactive).toBe(1);
  });
});
