import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Predictor } from 'orchard-nlp';
import type { ModelFigures } from '../../models/recipes/catalogue/model-facts.js';
import { firstAnswer } from '../first-answer/measure.js';
import { median } from '../report.js';
import { ownRuntime } from '../runtimes.js';
import { asking } from './ask.js';

/** Texts to measure speed with, and how many of them one at a time. */
const TEXTS = 1000;
const SINGLES = 200;
const FRESH_PROCESSES = 5;

/** @param texts of a test. @param catalogue folder of the models. */
export async function measureSpeed(
  predictor: Predictor,
  name: string,
  texts: readonly string[],
  catalogue: string,
): Promise<ModelFigures['speed']> {
  const some = texts.slice(0, TEXTS);
  const ask = asking(predictor, name);
  await ask(some.slice(0, SINGLES));
  const startedAt = performance.now();
  await ask(some);
  const seconds = (performance.now() - startedAt) / 1000;
  const singles: number[] = [];
  for (const text of some.slice(0, SINGLES)) {
    const askedAt = performance.now();
    (await predictor.predictPretrained(name, text))._unsafeUnwrap();
    singles.push(performance.now() - askedAt);
  }
  const fresh: number[] = [];
  for (let run = 0; run < FRESH_PROCESSES; run += 1) {
    const { total } = await firstAnswer(ownRuntime, 'orchard', { catalogue, model: name, query: some[0] ?? '' });
    fresh.push(total ?? Number.NaN);
  }
  return {
    texts_per_second: Math.round(some.length / seconds),
    p50_ms: Number(median(singles).toFixed(2)),
    first_answer_ms: Math.round(median(fresh)),
  };
}

/** Resident megabytes of a process with so many workers that has answered with each of these models once. */
export async function residentMegabytes(catalogue: string, workers: number, names: readonly string[]): Promise<number> {
  // Plain JavaScript, so that no compiler takes memory.
  const script = fileURLToPath(new URL('memory.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, catalogue, String(workers), ...names]);
  return Number(stdout) / 1e6;
}
