import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LabelAnswer, type Trial, type TunedModel, tune } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { drawSettings } from '../../src/api/search-space.js';
import { Random } from '../../src/system/numbers.js';
import { rows } from '../public/sentiments.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';

/** A search over settings, from rows to the best model. */

/** Short, and of a small encoder. */
const quick = { epochs: 3, threads: 1, tuning: { quantize: false } } as const;
const space = { learningRate: { min: 1e-5, max: 1e-2, scale: 'log' }, tokenDropout: [0, 0.2] } as const;

let folder: string;
let base: string;
let model: TunedModel<LabelAnswer>;
const told: Trial[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-tune-'));
  base = writeCheckpoint(join(folder, 'base'));
  const onTrial = (trial: Trial) => told.push(trial);
  const tuned = await tune({
    rows,
    ...quick,
    base,
    output: join(folder, 'best'),
    trials: 4,
    space,
    seed: 3,
    onTrial,
  });
  if (tuned.isErr()) throw tuned.error;
  model = tuned.value;
});
afterAll(async () => {
  await model?.close();
  await rm(folder, { recursive: true });
});

describe('a search over settings', () => {
  it('trains the defaults in full first, then others for a third, the best of which in full', () => {
    const { trials, endedBy, metric } = model.tuning;
    expect({ endedBy, metric }).toEqual({ endedBy: 'trials', metric: 'accuracy' });
    expect(trials.map(({ number }) => number)).toEqual([0, 1, 2, 3]);
    const [defaults, ...others] = trials;
    expect(defaults).toMatchObject({ settings: {}, status: 'finished', runs: [{ epochs: 3 }] });
    for (const { settings, runs } of others) {
      expect(Object.keys(settings).sort()).toEqual(['learningRate', 'tokenDropout']);
      expect(runs[0]?.epochs).toBe(1);
    }
    const finished = others.filter(({ status }) => status === 'finished');
    expect(finished.map(({ runs }) => runs.map(({ epochs }) => epochs))).toEqual([[1, 3]]);
    const first = others.map(({ runs }) => runs[0]?.figure ?? 0);
    expect(finished[0]?.runs[0]?.figure).toBe(Math.max(...first));
    expect(others.filter(({ status }) => status === 'weak')).toHaveLength(2);
  });

  it('comes back with the model of the best run, which is no worse than that of the defaults', async () => {
    const { best, trials } = model.tuning;
    const finished = trials.filter(({ status }) => status === 'finished');
    const figures = finished.map(({ figure = 0 }) => figure);
    expect(best.figure).toBe(Math.max(...figures));
    expect(best.figure).toBeGreaterThanOrEqual(trials[0]?.figure ?? 1);
    expect(model.training.accuracy).toBe(best.figure);
    expect(await readdir(folder)).toEqual(['base', 'best']);
    const answer = await model.predict('this lamp works perfectly');
    expect(answer.isOk() && answer.value.label).toBe('positive');
  });

  it('tells of each run as it begins and ends', () => {
    const began = told.filter(({ status }) => status === 'running');
    const runs = model.tuning.trials.flatMap((trial) => trial.runs);
    expect(began).toHaveLength(runs.length);
    expect(told).toHaveLength(2 * runs.length);
    expect(told[0]).toMatchObject({ number: 0, status: 'running', runs: [] });
    const ends = told.filter(({ status }) => status !== 'running').map(({ status }) => status);
    expect(ends).toEqual(['finished', 'waiting', 'waiting', 'waiting', 'finished']);
  });
});

describe('a search', () => {
  const failure = async (options: Parameters<typeof tune>[0]) => {
    const tuned = await tune(options);
    if (tuned.isOk()) throw new Error('it has found a model');
    return tuned.error;
  };

  it('refuses what it could not keep to', async () => {
    expect(await failure({ rows, learningRate: 1e-3, space })).toMatchObject({
      code: 'validation',
      message: expect.stringMatching(/`learningRate` is also an option with a fixed value/),
    });
    expect((await failure({ rows, size: 'mini', space: { size: ['mini', 'base'] } })).message).toMatch(
      /`size` is also/,
    );
    expect((await failure({ rows, space: { learningRate: { min: 0.1, max: 0.01 } } })).message).toMatch(/min is above/);
    const wrong: object = { rows, space: { leraningRate: [1] } };
    expect((await failure(wrong)).message).toMatch(/leraningRate/);
    const effortless: object = { rows, tuning: { effort: 'quick' } };
    expect((await failure(effortless)).message).toMatch(/tuning.*effort/);
    const asked = ['one', 'two', 'six', 'ten'].map((each) => ({
      question: `${each}?`,
      passage: `is ${each}`,
    }));
    expect((await failure({ rows: asked, space: { labelSmoothing: [0] } })).message).toMatch(
      /does not use `labelSmoothing`/,
    );
  });

  it('says so where the budget is too short for the defaults', async () => {
    expect(await failure({ rows, ...quick, base, epochs: 1000, budgetSeconds: 3 })).toMatchObject({
      code: 'training',
      message: expect.stringMatching(/`budgetSeconds: .* reached before the first trial ended/),
    });
  });

  it('stops at the signal, and leaves nothing behind', async () => {
    const controller = new AbortController();
    const output = join(folder, 'never');
    const onTrial = ({ number }: Trial) => {
      if (number === 1) controller.abort();
    };
    const error = await failure({ rows, ...quick, base, output, onTrial, signal: controller.signal });
    expect(error.code).toBe('aborted');
    expect(await readdir(folder)).toEqual(['base', 'best']);
  });

  it('goes on where a trial fails, and takes no two alike', async () => {
    const tuned = await tune({
      ...{ rows, ...quick, base, epochs: 1 },
      space: { freeze: [50], batchSize: [16] },
    });
    if (tuned.isErr()) throw tuned.error;
    await using found = tuned.value;
    expect(found.tuning).toMatchObject({ endedBy: 'space', best: { trial: 0 } });
    expect(found.tuning.trials.slice(1)).toEqual([
      expect.objectContaining({ status: 'failed', error: expect.stringMatching(/layers/), runs: [] }),
    ]);
  });
});

describe('settings at random', () => {
  it('are within their ranges, each factor as likely as any other', () => {
    const [random, drawn] = [Random.fromSeed(1), new Set<string>()];
    const rates = Array.from({ length: 400 }, () => {
      const { learningRate = 0 } =
        drawSettings({ learningRate: { min: 1e-4, max: 1e-2, scale: 'log' } }, random, drawn) ?? {};
      return learningRate;
    }).filter((rate) => rate > 0);
    expect(Math.min(...rates)).toBeGreaterThanOrEqual(1e-4);
    expect(Math.max(...rates)).toBeLessThanOrEqual(1e-2);
    expect(new Set(rates).size).toBe(rates.length);
  });

  it('end where a space has no others', () => {
    const drawn = new Set<string>();
    const random = Random.fromSeed(2);
    const all = Array.from({ length: 10 }, () =>
      drawSettings({ augment: [true, false], batchSize: [8] }, random, drawn),
    );
    expect(all.filter((each) => each !== undefined)).toHaveLength(2);
  });
});
