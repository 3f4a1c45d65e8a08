import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { reload } from '../../bench/hot-reload/measure.js';

/** Models that an application doesn't close, as development servers do that run a module again and again. */

const library = new URL('../../dist/index.js', import.meta.url).href;

const PROGRAM = `
  const { loadModel } = await import(${JSON.stringify(library)});
  const models = 30;
  // Options of its own: others would share one model.
  const opened = async (number) => (await loadModel('sentiment-classification', { maxWaiting: 1000 + number }))._unsafeUnwrap();
  let before = 0;
  for (let number = 0; number < models; number += 1) {
    await (async () => {
      const model = await opened(number);
      (await model.predict('good'))._unsafeUnwrap();
    })();
    gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (number === 5) before = process.memoryUsage.rss();
  }
  const kept = await opened(models);
  gc();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const answered = (await kept.predict('good')).isOk();
  console.log(JSON.stringify({ answered, grownMiB: (process.memoryUsage.rss() - before) / 2 ** 20 }));
  process.exit();`;

it('are freed when nothing refers to them any more; one that is in use is not', () => {
  const output = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', PROGRAM], {
    encoding: 'utf8',
  });
  const { answered, grownMiB } = JSON.parse(output);
  expect(answered).toBe(true);
  // Each takes 33 MiB: 25 that stay take more than 800.
  expect(grownMiB).toBeLessThan(300);
});

const PREDICTORS = `
  const { Medley, memoryStorage, Predictor } = await import(${JSON.stringify(library)});
  let threads = 0;
  process.on('worker', (worker) => {
    threads += 1;
    worker.once('exit', () => (threads -= 1));
  });
  const options = { isolation: 'worker', workers: 1 };
  const ask = async (asked) => (await asked.predictPretrained('sentiment-classification', 'good'))._unsafeUnwrap();
  const kept = new Predictor({ storage: memoryStorage(), ...options });
  for (let number = 0; number < 5; number += 1) {
    await (async () => {
      await ask(new Predictor({ storage: memoryStorage(), ...options }));
      (await new Medley(options).predict({ query: 'good', models: ['sentiment-classification'] }))._unsafeUnwrap();
    })();
  }
  while (threads > 1) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await ask(kept);
  console.log(JSON.stringify({ threads }));
  process.exit();`;

it('are freed with the Predictor or Medley that loaded them', () => {
  const output = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '--eval', PREDICTORS], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect(JSON.parse(output)).toEqual({ threads: 1 });
});

it('take the memory and the thread of one, however often it is loaded', async () => {
  const model = 'sentiment-classification';
  const loads = await reload({ library, model, loads: 12, isolation: 'worker', collects: false });
  expect(loads.map(({ threads }) => threads)).toEqual(loads.map(() => 1));
  expect((loads.at(-1)?.rss ?? Number.NaN) / (loads[1]?.rss ?? Number.NaN)).toBeLessThan(1.3);
});
