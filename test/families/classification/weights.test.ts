import { describe, expect, it } from 'vitest';
import { rowLosses } from '../../../src/families/classification/calibration.js';
import { linkOf } from '../../../src/families/classification/classification-dataset.js';
import {
  balancedWeights,
  lossTargets,
  meanWeight,
  sigmoidLoss,
  targetOf,
  truthOf,
} from '../../../src/families/classification/targets.js';
import { crossEntropy } from '../../../src/families/cross-entropy.js';
import { addGradients, Graph, onnxExecutor } from '../../../src/graph/index.js';
import { runToEnd } from '../../../src/system/index.js';
import { gradientError, someNumbers } from '../../support/finite-differences.js';

/** Rows that count several times, and labels with probabilities, in the loss of the encoder. */

type Row = Parameters<typeof targetOf>[1];
type Kind = Parameters<typeof targetOf>[0];

const LABELS = 3;
const outputsOf = (kind: Kind) => (kind === 'binary' ? 1 : LABELS);
const executor = onnxExecutor({ threads: 1 });

interface Batch {
  readonly kind: Kind;
  readonly rows: readonly Row[];
  /** All rows of the training, of which the batch is a part. Default: the batch. */
  readonly all?: readonly Row[];
  readonly labelSmoothing?: number;
  readonly balanced?: boolean;
}

function targetsOf({ kind, rows, all = rows, labelSmoothing = 0, balanced = false }: Batch) {
  const link = linkOf(kind);
  const of = (some: readonly Row[]) => some.map((row) => targetOf(kind, row));
  const classWeights = balanced ? balancedWeights(of(all), outputsOf(kind)) : undefined;
  const rules = { link, labelSmoothing, classWeights, meanWeight: meanWeight(of(all), { link, classWeights }) };
  return lossTargets(of(rows), outputsOf(kind), rules);
}

/** The loss as training computes it, and its gradient by the logits. */
async function lossOf(batch: Batch, logits: Float32Array) {
  const { kind, rows } = batch;
  const dims = [rows.length, outputsOf(kind)];
  const graph = new Graph();
  const tensor = graph.parameter('logits', dims);
  const loss = (linkOf(kind) === 'softmax' ? crossEntropy : sigmoidLoss)(graph, tensor);
  graph.output('loss', loss);
  for (const { dense } of addGradients(graph, loss)) if (dense) graph.output('gradient', dense);
  const compiled = await executor.compile(graph);
  const [value, gradient] = [new Float32Array(1), new Float32Array(logits.length)];
  await compiled.run(
    { ...targetsOf(batch).feeds, logits: { type: 'float32', dims, data: logits } },
    {
      loss: { type: 'float32', dims: [], data: value },
      gradient: { type: 'float32', dims, data: gradient },
    },
  );
  await compiled.release();
  return { loss: value[0] ?? Number.NaN, gradient };
}

const some = (kind: Kind, seed: number) => someNumbers(outputsOf(kind), 2, seed);
const hard: Readonly<Record<Kind, readonly Row[]>> = {
  binary: [{ labelIds: [1] }, { labelIds: [0] }, { labelIds: [0] }],
  multiclass: [{ labelIds: [2] }, { labelIds: [0] }, { labelIds: [0] }],
  multilabel: [{ labelIds: [0, 2] }, { labelIds: [] }, { labelIds: [1] }],
};
const kinds = ['binary', 'multiclass', 'multilabel'] as const;

describe.each(kinds)('a weight of a %s row', (kind) => {
  const [first = { labelIds: [] }, ...others] = hard[kind];
  const logits = [some(kind, 1), some(kind, 2), some(kind, 3)] as const;
  const joined = (...rows: readonly Float32Array[]) => Float32Array.from(rows.flatMap((row) => [...row]));

  it.each([
    { labelSmoothing: 0, balanced: false },
    { labelSmoothing: 0.1, balanced: false },
    { labelSmoothing: 0.1, balanced: true },
  ])('of 2 gives the loss of the row twice ($labelSmoothing, $balanced)', async (options) => {
    const twice = await lossOf({ kind, rows: [first, first, ...others], ...options }, joined(logits[0], ...logits));
    const weighted = await lossOf({ kind, rows: [{ ...first, weight: 2 }, ...others], ...options }, joined(...logits));
    expect(Math.abs(weighted.loss - twice.loss)).toBeLessThan(1e-6);
    const outputs = outputsOf(kind);
    for (let output = 0; output < outputs; output += 1) {
      const both = (twice.gradient[output] ?? 0) + (twice.gradient[outputs + output] ?? 0);
      expect(weighted.gradient[output]).toBeCloseTo(both, 6);
    }
  });

  it('counts as much in a batch of light rows as in one of heavy rows', async () => {
    const all = [...hard[kind].map((row) => ({ ...row, weight: 0.5 })), { ...first, weight: 6 }];
    const each = [...logits, logits[0]];
    const whole = await lossOf({ kind, rows: all }, joined(...each));
    let sum = 0;
    for (const [at, row] of all.entries())
      sum += (await lossOf({ kind, rows: [row], all }, each[at] ?? logits[0])).loss;
    expect(Math.abs(sum / all.length - whole.loss)).toBeLessThan(1e-6);
  });
});

describe.each(kinds)('probabilities of the labels of a %s row', (kind) => {
  const soft: readonly Row[] =
    kind === 'multilabel'
      ? [{ labelIds: [0], shares: [0.9, 0.2, 0.4] }, { labelIds: [2], shares: [0, 0.1, 1] }, { labelIds: [1] }]
      : kind === 'multiclass'
        ? [{ labelIds: [1], shares: [0.2, 0.5, 0.3] }, { labelIds: [0], shares: [0.9, 0, 0.1] }, { labelIds: [2] }]
        : [{ labelIds: [1], shares: [0.3, 0.7] }, { labelIds: [0], shares: [0.6, 0.4] }, { labelIds: [0] }];
  const logits = someNumbers(3 * outputsOf(kind), 2, 4);

  it('are those of the label itself where it is certain', () => {
    const oneHot = hard[kind].map(({ labelIds }) => ({
      labelIds,
      shares: Array.from({ length: kind === 'binary' ? 2 : LABELS }, (_, id) => (labelIds.includes(id) ? 1 : 0)),
    }));
    for (const options of [{}, { labelSmoothing: 0.1 }, { balanced: true }]) {
      expect(targetsOf({ kind, rows: oneHot, ...options })).toEqual(targetsOf({ kind, rows: hard[kind], ...options }));
    }
  });

  it('give the mean loss under each label, by its probability', async () => {
    const { loss } = await lossOf({ kind, rows: soft }, logits);
    const outputs = outputsOf(kind);
    // In 64 bits: −Σ p ln q.
    const losses = soft.map(({ labelIds, shares }, row) => {
      const own = [...logits.subarray(row * outputs, (row + 1) * outputs)];
      const given = shares ?? Array.from({ length: LABELS }, (_, id) => (labelIds.includes(id) ? 1 : 0));
      if (kind === 'multiclass') {
        const total = own.reduce((sum, logit) => sum + Math.exp(logit), 0);
        return own.reduce((sum, logit, id) => sum - (given[id] ?? 0) * Math.log(Math.exp(logit) / total), 0);
      }
      const on = kind === 'binary' ? given.slice(1, 2) : given;
      const costs = own.map((logit, output) => {
        const p = 1 / (1 + Math.exp(-logit));
        return -(on[output] ?? 0) * Math.log(p) - (1 - (on[output] ?? 0)) * Math.log(1 - p);
      });
      return costs.reduce((sum, each) => sum + each, 0) / outputs;
    });
    const mean = losses.reduce((sum, each) => sum + each, 0) / losses.length;
    expect(Math.abs(loss - mean)).toBeLessThan(1e-6);
    const truth = truthOf(
      { kind, outputs },
      soft.map((row) => ({ text: '', ...row })),
    );
    const measured = runToEnd(rowLosses(linkOf(kind), { outputs, ...truth }, logits));
    const perOutput = kind === 'multiclass' ? 1 : outputs;
    for (const [row, each] of measured.entries()) expect(each / perOutput).toBeCloseTo(losses[row] ?? 0, 6);
  });

  it.each([{}, { labelSmoothing: 0.1, balanced: true }])('have the gradients of their loss %o', async (options) => {
    const dims = [3, outputsOf(kind)];
    const weighted = soft.map((row, at) => ({ ...row, weight: at + 0.5 }));
    const error = await gradientError({
      parameters: new Map([['logits', { dims, values: logits }]]),
      feeds: targetsOf({ kind, rows: weighted, ...options }).feeds,
      loss: (graph) =>
        (linkOf(kind) === 'softmax' ? crossEntropy : sigmoidLoss)(graph, graph.parameter('logits', dims)),
    });
    expect(error).toBeLessThan(1e-3);
  });
});
