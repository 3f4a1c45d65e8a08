import { describe, expect, it } from 'vitest';
import { type Encoder, initialize, readEncoder } from '../../src/encoder/index.js';
import {
  type Adapters,
  type AdapterTarget,
  adaptedWeights,
  Evaluator,
  GradientEngine,
  mergedWeight,
  padBatch,
  type Weights,
  withAdapters,
} from '../../src/engine/index.js';
import { classificationTask } from '../../src/families/classification/training.js';
import { flatOutputs } from '../../src/families/softmax.js';
import { onnxExecutor } from '../../src/graph/index.js';
import { Random } from '../../src/system/numbers.js';
import { smallConfigs } from '../encoder/small-configs.js';
import { someNumbers } from '../support/finite-differences.js';

/** Adapters in every architecture: layers that are shared, used twice, or that give query, key and value at once. */

const rows = [0, 1, 2].map((row) => ({ text: '', labelIds: [row] }));
const labels = ['a', 'b', 'c'];
const { head } = classificationTask({ kind: 'multiclass', labels, train: rows, dev: rows, warnings: [] }, 'mean');
const windows = [
  [2, 5, 7, 8],
  [3, 5],
  [9, 2, 4],
].map((ids, row) => ({
  row,
  encoding: {
    ids: Int32Array.from(ids),
    typeIds: new Int32Array(ids.length),
    sequenceIds: new Int32Array(ids.length),
    offsets: null,
    truncated: 0,
  },
}));
const everywhere: readonly AdapterTarget[] = ['query', 'key', 'value', 'attention-output', 'inner', 'outer'];
const adapters: Adapters = { rank: 2, alpha: 3, targets: everywhere, dropout: 0, lowest: 0 };
const SCALE = adapters.alpha / adapters.rank;

/** Weights of the encoder, the head and the adapters that all matter. */
function someWeights(encoder: Encoder): Weights {
  const random = Random.fromSeed(3);
  return new Map(
    withAdapters(head, adapters)
      .parameters(encoder)
      .map((spec) => {
        const values = new Float32Array(spec.shape.reduce((product, size) => product * size, 1));
        initialize(spec, values, () => 5 * random.normal());
        return [spec.name, spec.name.endsWith('lora_B.weight') ? someNumbers(values.length, 0.3, 3) : values];
      }),
  );
}

/** The gradients of one step, dropout included. @param learns which parameters, all others being frozen. */
async function gradientsOf(encoder: Encoder, isAdapted: boolean, weights: Weights, learns: (name: string) => boolean) {
  const trained = isAdapted ? withAdapters(head, adapters) : head;
  const parameters = trained.parameters(encoder);
  const frozen = new Map([...weights].filter(([name]) => !learns(name)));
  const engine = await GradientEngine.create({
    executor: onnxExecutor(),
    head: trained,
    encoder,
    trainable: parameters.filter(({ name }) => learns(name)),
    frozen: { weights: frozen },
    batchSize: windows.length,
    longest: 4,
    seed: 1,
  });
  engine.store.setWeights(weights);
  const batch = padBatch(
    windows.map(({ encoding }) => encoding),
    encoder,
  );
  await engine.run(batch, head.targets(windows, { labelSmoothing: 0, balanced: false }));
  const gradients = new Map(engine.store.parameters.map((each) => [each.name, each.gradients.slice()]));
  await engine.release();
  return gradients;
}

/** a·b or aᵀ·b, row-major. Shapes: a [rows, inner], or [inner, rows] if transposed; b [inner, columns]. */
function product(a: Float32Array, b: Float32Array, inner: number, isTransposed = false): Float32Array {
  const rowCount = a.length / inner;
  const columns = b.length / inner;
  return Float32Array.from({ length: rowCount * columns }, (_, at) => {
    const [row, column] = [Math.floor(at / columns), at % columns];
    let sum = 0;
    for (let each = 0; each < inner; each += 1) {
      const left = a[isTransposed ? each * rowCount + row : row * inner + each] ?? 0;
      sum += left * (b[each * columns + column] ?? 0);
    }
    return SCALE * sum;
  });
}

function transposed(a: Float32Array, columns: number): Float32Array {
  const rowCount = a.length / columns;
  return a.map((_, at) => a[(at % rowCount) * columns + Math.floor(at / rowCount)] ?? 0);
}

function expectClose(given: Float32Array | undefined, wanted: Float32Array): void {
  const difference = Math.hypot(...wanted.map((value, at) => (given?.[at] ?? Number.NaN) - value));
  expect(difference).toBeLessThan(Math.max(1e-5 * Math.hypot(...wanted), 1e-7));
}

describe.each(Object.entries(smallConfigs))('adapters in %s', (model_type, config) => {
  const encoder = readEncoder({ model_type, ...config }, 'config.json');
  const weights = someWeights(encoder);
  const specs = head.parameters(encoder);
  const adapted = adaptedWeights(specs, adapters);
  const merged: Weights = new Map(
    specs.map((spec) => {
      const own = weights.get(spec.name) ?? new Float32Array();
      return [spec.name, adapted.includes(spec) ? mergedWeight(spec, adapters, weights, own) : own];
    }),
  );

  it('give the same merged as beside the weights', async () => {
    expect(adapted.length).toBeGreaterThanOrEqual(4);
    const apart = await Evaluator.create(onnxExecutor(), withAdapters(head, adapters), encoder, { weights });
    const whole = await Evaluator.create(onnxExecutor(), head, encoder, { weights: merged });
    const expected = flatOutputs(await whole.outputs(windows, {}));
    const outputs = flatOutputs(await apart.outputs(windows, {}));
    for (const [at, value] of outputs.entries()) expect(value).toBeCloseTo(expected[at] ?? Number.NaN, 5);
    await Promise.all([apart.release(), whole.release()]);
  });

  it('have the gradients that follow from those of the merged weights', async () => {
    const names = new Set(adapted.map(({ name }) => name));
    const ofWeights = await gradientsOf(encoder, false, merged, (name) => names.has(name));
    const ofAdapters = await gradientsOf(encoder, true, weights, (name) => name.includes('lora_'));
    expect(ofAdapters.size).toBe(2 * adapted.length);
    for (const { name, shape } of adapted) {
      const [outputs = 0, inputs = 0] = shape;
      const [nameA, nameB] = ['A', 'B'].map((each) => name.replace(/weight$/, `lora_${each}.weight`));
      const [a, b] = [nameA, nameB].map((each = '') => weights.get(each) ?? new Float32Array());
      const slope = ofWeights.get(name) ?? new Float32Array();
      expectClose(ofAdapters.get(nameA ?? ''), product(b ?? slope, slope, outputs, true));
      expectClose(ofAdapters.get(nameB ?? ''), product(slope, transposed(a ?? slope, inputs), inputs));
    }
  });
});
