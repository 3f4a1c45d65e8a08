import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runTrainingLoop } from '../../src/training/training-loop.js';
import { classes } from '../engine/small-tasks.js';
import { loopInput } from './loop-input.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-stopping-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** The number of epochs of a training whose dev set gives these accuracies, one after the other, and then 0. */
async function epochsOf(epochs: number, accuracies: readonly number[]): Promise<number> {
  const left = [...accuracies];
  const evaluate = async () => {
    const accuracy = left.shift() ?? 0;
    return { value: accuracy, accuracy };
  };
  const { stats } = await runTrainingLoop(loopInput({ ...classes(), evaluate }, folder, { epochs }));
  return stats.epoch;
}

describe('early stopping', () => {
  // Half of the epochs, rounded up, but at least 3 after the best one.
  it.each([
    [4, [0.5], 4],
    [5, [0.5], 4],
    [6, [0.5], 4],
    [7, [0.5], 5],
    [10, [0.5], 6],
    [10, [0.1, 0.2, 0.3], 8],
    [10, [0.1, 0.2, 0.3, 0.3, 0.3], 8],
    [10, [0.1, 0.2, 0.3, 0.2, 0.4], 10],
    [10, [0.5, 0.4, 0.4, 0.4, 0.4, 0.6], 10],
    [10, [0.5, 0.4, 0.4, 0.4, 0.4, 0.4, 0.6], 6],
  ])('of %i epochs whose accuracies are %j: ends after %i', async (epochs, accuracies, ends) => {
    expect(await epochsOf(epochs, accuracies)).toBe(ends);
  });
});
