import { describe, expect, it } from 'vitest';
import { fitTfIdf, TfIdf } from '../../src/lexical/tf-idf.js';
import { type ExpertTarget, SVM_C, svmMemory, svmTexts, termWeights } from '../../src/lexical/train-linear-expert.js';
import { runToEnd } from '../../src/system/index.js';

/** What rows with weights and with probabilities do to the lexical expert. */

const nGrams = { lowercase: true, words: true, characters: { shortest: 2, longest: 3 } } as const;

interface Rows {
  readonly texts: readonly string[];
  readonly targets: readonly ExpertTarget[];
}

const OUTPUTS = 2;

/** Trained until nothing moves any more. */
function trainedOn({ texts, targets }: Rows) {
  const counts = Float32Array.from(targets, ({ weight = 1 }) => weight);
  const byFrequency = runToEnd(fitTfIdf(texts, nGrams, 1000, counts));
  const tfIdf = new TfIdf(
    nGrams,
    byFrequency.table.hashes(),
    runToEnd(termWeights(byFrequency, texts, targets, OUTPUTS)),
  );
  const rows = { ...svmTexts(texts, targets, OUTPUTS), outputs: OUTPUTS, classWeights: [] };
  const { problem, order, kernels } = runToEnd(svmMemory(tfIdf, rows));
  for (let pass = 0; pass < 3000; pass += 1) kernels.svmPass(problem, order);
  const weights = Float64Array.from(problem.weights);
  return { tfIdf, weights, stride: problem.outputs };
}

/** ½|w|² + C Σ weight · (p max(0, 1 − m)² + (1 − p) max(0, 1 + m)²), of the first output, in 64 bits; the bias is a feature. */
function lossOf({ texts, targets }: Rows, { tfIdf, stride }: ReturnType<typeof trainedOn>, weights: Float64Array) {
  let loss = 0;
  for (let feature = 0; feature <= tfIdf.size; feature += 1) loss += (weights[feature * stride] ?? 0) ** 2 / 2;
  for (const [row, { active, shares, weight = 1 }] of targets.entries()) {
    const { ids, values } = tfIdf.vector(texts[row] ?? '');
    let margin = weights[tfIdf.size * stride] ?? 0;
    for (const [at, id] of ids.entries()) margin += (values[at] ?? 0) * (weights[id * stride] ?? 0);
    const p = shares?.[0] ?? (active.includes(0) ? 1 : 0);
    loss += SVM_C * weight * (p * Math.max(0, 1 - margin) ** 2 + (1 - p) * Math.max(0, 1 + margin) ** 2);
  }
  return loss;
}

const texts = ['a good film', 'a bad film', 'good fun', 'no fun at all', 'a film'];
const targets: readonly ExpertTarget[] = [[0], [1], [0], [1], [0, 1]].map((active) => ({ active }));

describe('the lexical expert', () => {
  it('has the loss of the row twice where its weight is 2', () => {
    const weighted = {
      texts,
      targets: targets.map((target, row) => (row === 1 ? { ...target, weight: 2 } : target)),
    };
    const twice = { texts: [...texts, texts[1] ?? ''], targets: [...targets, { active: [1] }] };
    const [one, other] = [trainedOn(weighted), trainedOn(twice)];
    expect(one.tfIdf.size).toBe(other.tfIdf.size);
    const losses = [lossOf(weighted, one, one.weights), lossOf(twice, other, other.weights)] as const;
    expect(losses[0]).toBeGreaterThan(0.1);
    expect(Math.abs(losses[0] - losses[1])).toBeLessThan(1e-6);
    const plain = trainedOn({ texts, targets });
    expect(Math.abs(lossOf({ texts, targets }, plain, plain.weights) - losses[0])).toBeGreaterThan(1e-2);
  });

  it('lowers the mean of the losses under each label, as finite differences show', () => {
    const soft: readonly ExpertTarget[] = targets.map((target, row) =>
      row === 4 ? { active: [0], shares: [0.8, 0.3], weight: 1.5 } : target,
    );
    const rows = { texts, targets: soft };
    const trained = trainedOn(rows);
    const { weights, stride, tfIdf } = trained;
    const least = lossOf(rows, trained, weights);
    for (let feature = 0; feature <= tfIdf.size; feature += 7) {
      const at = feature * stride;
      const moved = [1e-3, -1e-3].map((step) => lossOf(rows, trained, weights.with(at, (weights[at] ?? 0) + step)));
      expect(Math.min(...moved)).toBeGreaterThan(least);
      expect(Math.abs((moved[0] ?? 0) - (moved[1] ?? 0)) / 2e-3).toBeLessThan(1e-4);
    }
  });

  it('says a probability where nothing else is known: 2p − 1 is the best margin of a squared hinge', () => {
    const same = Array.from({ length: 400 }, () => 'the same words');
    const { weights, stride, tfIdf } = trainedOn({
      texts: same,
      targets: same.map(() => ({ active: [0], shares: [0.7, 0.5] })),
    });
    const { ids, values } = tfIdf.vector('the same words');
    const margin = ids.reduce(
      (sum, id, at) => sum + (values[at] ?? 0) * (weights[id * stride] ?? 0),
      weights[tfIdf.size * stride] ?? 0,
    );
    expect(margin).toBeCloseTo(0.4, 2);
  });
});
