import { describe, expect, it } from 'vitest';
import { Arena, ParameterStore } from '../../src/engine/index.js';
import { decayed, storeOf, undecayed } from './parameters.js';

const DEFINITIONS = [decayed('dense.weight', 3, 5), undecayed('dense.bias', 5), decayed('embedding', 7, 3)];

describe('ParameterStore', () => {
  it('lists the parameters in the order given, each with its own zeroed arrays of its shape', () => {
    const { store } = storeOf(DEFINITIONS);
    expect(store.parameters.map(({ name }) => name)).toEqual(['dense.weight', 'dense.bias', 'embedding']);
    store.parameters.forEach((parameter, index) => {
      for (const array of [parameter.weights, parameter.gradients, parameter.firstMoments, parameter.secondMoments]) {
        expect(array).toEqual(new Float32Array([15, 5, 21][index] ?? 0));
        array.fill(1);
      }
    });
  });

  it('keeps decayed parameters and the others in two regions that cover every element once', () => {
    const { store } = storeOf(DEFINITIONS);
    for (const { weights, decay } of store.parameters) weights.fill(decay ? 1 : 2);
    const [first, second] = store.regions;
    expect([first?.decay, second?.decay]).toEqual([true, false]);
    expect(sum(first?.weights)).toBe(15 + 21);
    expect(sum(second?.weights)).toBe(2 * 5);
  });

  it.each([false, true])('takes exactly bytesFor, with accumulate: %s', (accumulate) => {
    const { arena } = storeOf(DEFINITIONS, accumulate);
    expect(arena.usedBytes).toBe(ParameterStore.bytesFor(DEFINITIONS, accumulate));
    const runs = accumulate ? 5 : 4;
    expect(arena.usedBytes).toBe(runs * (16 + 16 + 32) * 4);
  });

  it('finds a parameter by name and says which name it lacks', () => {
    const { store } = storeOf(DEFINITIONS);
    expect(store.get('embedding').shape).toEqual([7, 3]);
    expect(() => store.get('pooler')).toThrow('no parameter "pooler"');
  });

  it('refuses a name that occurs twice', () => {
    expect(() => storeOf([decayed('a', 1), undecayed('a', 2)])).toThrow('parameter "a" is defined twice');
  });

  it('refuses an arena that is too small', () => {
    const { kernels } = storeOf(DEFINITIONS);
    expect(() => new ParameterStore(new Arena(0), kernels, DEFINITIONS)).toThrow(RangeError);
  });

  it('accumulates batches of different sizes to the mean gradient of all their rows', () => {
    const { store } = storeOf([decayed('w', 3)], true);
    const rows = [
      [1, 2, 3],
      [4, 5, 6],
      [-1, 0, 7],
      [2, 2, 2],
      [9, 1, 7],
    ];
    for (const batch of [rows.slice(0, 2), rows.slice(2)]) {
      store.get('w').gradients.set(columnMeans(batch));
      store.accumulateGradients(batch.length);
    }
    const mean = store.regions[0]?.gradients.map((value) => value * store.gradientScale);
    columnMeans(rows).forEach((value, index) => {
      expect(mean?.[index]).toBeCloseTo(value, 5);
    });
  });

  it('starts a new sum when cleared', () => {
    const { store } = storeOf([decayed('w', 1)], true);
    store.get('w').gradients.fill(4);
    store.accumulateGradients(2);
    store.clearAccumulatedGradients();
    expect(() => store.gradientScale).toThrow('no gradients were accumulated');
    store.accumulateGradients(3);
    expect(store.regions[0]?.gradients[0]).toBe(12);
    expect(store.gradientScale).toBe(1 / 3);
  });

  it('says so when asked to accumulate without room for it', () => {
    expect(() => storeOf(DEFINITIONS).store.accumulateGradients(1)).toThrow('made without `accumulate`');
  });
});

function sum(values: Float32Array | undefined): number {
  return values?.reduce((total, value) => total + value, 0) ?? Number.NaN;
}

function columnMeans(rows: readonly (readonly number[])[]): number[] {
  const [first = []] = rows;
  return first.map((_, column) => rows.reduce((total, row) => total + (row[column] ?? 0), 0) / rows.length);
}
