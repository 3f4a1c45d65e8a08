import { join } from 'node:path';
import { fileStorage, Predictor } from 'orchard-nlp';
import { expect, it } from 'vitest';

export interface TrainedModel {
  readonly id: string;
  /** Holds the storage. */
  readonly folder: string;
  /** At most 20. */
  readonly queries: readonly string[];
}

/**
 * What holds for the answers of every family's model.
 * @param trained called in the tests, once there is a model.
 * @param digits to which scores must agree however queries are grouped.
 */
export function itAnswersConsistently(trained: () => TrainedModel, digits: number): void {
  const open = () => new Predictor({ storage: fileStorage(join(trained().folder, 'storage')) });

  it(`answers a batch as it answers each query alone, to 1e-${digits}, in query order`, async () => {
    const { id, queries } = trained();
    await using predictor = open();
    const batch = (await predictor.predictCustomBatch(id, queries))._unsafeUnwrap().data;
    expect(batch).toHaveLength(queries.length);
    for (const [at, query] of queries.entries()) {
      const { scores, ...rest } = (await predictor.predictCustom(id, query))._unsafeUnwrap().data;
      expect(batch[at]).toMatchObject(rest);
      for (const [rank, score] of scores.entries()) {
        expect(batch[at]?.scores[rank]).toBeCloseTo(score, digits);
      }
    }
  });

  it('answers after a restart as before, to the bit', async () => {
    const { id, queries } = trained();
    const answers = [];
    for (let start = 0; start < 2; start += 1) {
      await using predictor = open();
      answers.push((await predictor.predictCustomBatch(id, queries))._unsafeUnwrap().data);
    }
    expect(answers[1]).toEqual(answers[0]);
  });
}
