import { describe, expect, it } from 'vitest';
import { fitLinear, type LinearProblem } from '../../src/engine/index.js';
import { type Graph, onnxExecutor, type Tensor } from '../../src/graph/index.js';
import { Random } from '../../src/system/numbers.js';
import { failureOf } from '../support/outcomes.js';

const [ROWS, WIDTH, OUTPUTS, PENALTY] = [90, 3, 3, 0.02];
const executor = onnxExecutor({ threads: 1 });

/** Rows of three classes around points of their own, on scales that differ a thousandfold; the last feature is constant. */
function someRows() {
  const random = Random.fromSeed(7);
  const classes = Array.from({ length: ROWS }, (_, row) => row % OUTPUTS);
  const vectors = classes.flatMap((each) => [
    each + random.normal(),
    500 + 1000 * ((each === 1 ? 1 : 0) + random.normal()),
    0.1 + 1e-9 * random.normal(),
  ]);
  return { classes, vectors: Float32Array.from(vectors) };
}

function problemOf({ classes, vectors }: ReturnType<typeof someRows>): LinearProblem {
  const targets = new Float32Array(ROWS * OUTPUTS);
  for (const [row, each] of classes.entries()) targets[row * OUTPUTS + each] = 1 / ROWS;
  const loss = (graph: Graph, logits: Tensor) => {
    const terms = graph.multiply(graph.logSoftmax(logits), graph.input('targets', 'float32', logits.shape));
    return graph.scale(graph.reduceSum(terms, [0, 1]), -1);
  };
  const feeds = { targets: { type: 'float32' as const, dims: [ROWS, OUTPUTS], data: targets } };
  return { vectors, width: WIDTH, outputs: OUTPUTS, loss, feeds, penalty: PENALTY };
}

describe('a linear layer that is fitted', () => {
  it('has no slope left but that of its penalty: the gradients of cross-entropy, worked out in 64 bits', async () => {
    const rows = someRows();
    const { weight, bias } = await fitLinear(executor, problemOf(rows));
    const at = (row: number, feature: number) => rows.vectors[row * WIDTH + feature] ?? 0;
    const deviation = [0, 1].map((feature) => {
      const values = rows.classes.map((_, row) => at(row, feature));
      const mean = values.reduce((sum, value) => sum + value, 0) / ROWS;
      return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / ROWS);
    });
    const slopes = new Float64Array(OUTPUTS * 2);
    const biasSlopes = new Float64Array(OUTPUTS);
    for (const [row, right] of rows.classes.entries()) {
      const exponentials = Array.from({ length: OUTPUTS }, (_, output) => {
        const features = [0, 1, 2].map((feature) => (weight[output * WIDTH + feature] ?? 0) * at(row, feature));
        return Math.exp(features.reduce((sum, each) => sum + each, bias[output] ?? 0));
      });
      const whole = exponentials.reduce((sum, each) => sum + each, 0);
      for (const [output, each] of exponentials.entries()) {
        const error = (each / whole - (output === right ? 1 : 0)) / ROWS;
        biasSlopes[output] = (biasSlopes[output] ?? 0) + error;
        for (const feature of [0, 1]) {
          // By the standardised feature, whose weights the penalty is on. Its mean drops out as biases have no slope.
          const slot = output * 2 + feature;
          slopes[slot] = (slopes[slot] ?? 0) + (error * at(row, feature)) / (deviation[feature] ?? 1);
        }
      }
    }
    for (const [slot, slope] of slopes.entries()) {
      const [output, feature] = [Math.floor(slot / 2), slot % 2];
      const scaled = (weight[output * WIDTH + feature] ?? 0) * (deviation[feature] ?? 1);
      expect(Math.abs(slope + PENALTY * scaled)).toBeLessThan(2e-3);
      expect(Math.abs(scaled)).toBeGreaterThan(0.01);
    }
    for (const slope of biasSlopes) expect(Math.abs(slope)).toBeLessThan(1e-3);
  });

  it('leaves a feature alone that differs by rounding only', async () => {
    const { weight } = await fitLinear(executor, problemOf(someRows()));
    for (let output = 0; output < OUTPUTS; output += 1) expect(weight[output * WIDTH + 2]).toBe(0);
  });

  it('stops when asked to', async () => {
    const stopped = AbortSignal.abort();
    await failureOf('aborted', () => fitLinear(executor, problemOf(someRows()), stopped));
  });

  it('has the weights 0 where no feature varies but by rounding', async () => {
    const rows = someRows();
    const vectors = rows.vectors.map((_, at) => Math.fround(0.1 + (at % 7) * 1e-9));
    const { weight, bias } = await fitLinear(executor, problemOf({ ...rows, vectors }));
    expect([...weight]).toEqual(new Array(OUTPUTS * WIDTH).fill(0));
    expect([...bias].every(Number.isFinite)).toBe(true);
  });
});
