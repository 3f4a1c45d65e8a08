import { describe, expect, it } from 'vitest';
import { fitOutsideBias as fitOutsideBiasSteps } from '../../../src/families/entities/calibration.js';
import { atOnce, inOneStep } from '../../support/at-once.js';

const fitOutsideBias = atOnce(fitOutsideBiasSteps);

const tags = ['O', 'B-PER', 'I-PER'];
const weights = { encoder: 1, expert: 2, bias: [] };

/** An F1 that is best where O is lowered by so much. */
const bestAt = (by: number) =>
  inOneStep(({ bias }: { readonly bias: readonly number[] }) => 1 - Math.abs(-(bias[0] ?? 0) - by));

describe('fitOutsideBias', () => {
  it.each([0.75, 1.5, 2, 3.25, 6.5])('lowers O, and nothing else, by the %d that find the most entities', (by) => {
    const fitted = fitOutsideBias(weights, tags, bestAt(by));
    expect(fitted).toEqual({ encoder: 1, expert: 2, bias: [-by, 0, 0] });
  });

  it('raises O if too much was found', () => {
    expect(fitOutsideBias(weights, tags, bestAt(-1.25)).bias).toEqual([1.25, 0, 0]);
  });

  it('leaves O alone if no bias is better', () => {
    expect(
      fitOutsideBias(
        weights,
        tags,
        inOneStep(() => 0.5),
      ).bias,
    ).toEqual([0, 0, 0]);
  });

  it('finds O wherever its id is', () => {
    expect(
      fitOutsideBias(
        weights,
        ['B-PER', 'O'],
        inOneStep(({ bias }: { readonly bias: readonly number[] }) => -Math.abs((bias[1] ?? 0) + 2)),
      ).bias,
    ).toEqual([0, -2]);
  });
});
