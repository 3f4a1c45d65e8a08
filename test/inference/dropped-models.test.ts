import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** Models that an application doesn't close, as development servers do that run a module again and again. */

const library = new URL('../../dist/index.js', import.meta.url).href;
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Counts the models that ONNX Runtime has opened and released in the thread of a program, and the threads that run. */
const COUNTING = `
  const { InferenceSession } = await import('onnxruntime-node');
  const { create } = InferenceSession;
  const sessions = { created: 0, open: 0 };
  InferenceSession.create = async (...asked) => {
    const session = await create.apply(InferenceSession, asked);
    const { release } = session;
    session.release = async () => {
      await release.call(session);
      sessions.open -= 1;
    };
    sessions.created += 1;
    sessions.open += 1;
    return session;
  };
  let threads = 0;
  process.on('worker', (worker) => {
    threads += 1;
    worker.once('exit', () => (threads -= 1));
  });
  const collecting = async (isDone) => {
    while (!isDone()) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const { loadModel, Medley, memoryStorage, Predictor } = await import(${JSON.stringify(library)});`;

/** What a program prints as JSON. It ends by itself, or the test fails after a minute. */
function resultOf(program: string): unknown {
  const code = `${COUNTING}${program} process.exit();`;
  const args = ['--expose-gc', '--input-type=module', '--eval', code];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8', timeout: 60_000 }));
}

it('are freed when nothing refers to them any more; one that is in use is not', () => {
  const program = `
    // Options of its own: others would share one model.
    const opened = async (number) => {
      const model = (await loadModel('sentiment-classification', { maxWaiting: 1000 + number }))._unsafeUnwrap();
      (await model.predict('good'))._unsafeUnwrap();
      return model;
    };
    const kept = await opened(0);
    for (let number = 1; number < 6; number += 1) await opened(number);
    await collecting(() => sessions.open === 1);
    const answered = (await kept.predict('good')).isOk();
    console.log(JSON.stringify({ answered, ...sessions }));`;
  expect(resultOf(program)).toEqual({ answered: true, created: 6, open: 1 });
});

it('are freed with the Predictor or Medley that loaded them', () => {
  const program = `
    const options = { isolation: 'worker', workers: 1 };
    const ask = async (asked) => (await asked.predictPretrained('sentiment-classification', 'good'))._unsafeUnwrap();
    const kept = new Predictor({ storage: memoryStorage(), ...options });
    for (let number = 0; number < 5; number += 1) {
      await (async () => {
        await ask(new Predictor({ storage: memoryStorage(), ...options }));
        (await new Medley(options).predict({ query: 'good', models: ['sentiment-classification'] }))._unsafeUnwrap();
      })();
    }
    await collecting(() => threads <= 1);
    await ask(kept);
    console.log(JSON.stringify({ threads }));`;
  expect(resultOf(program)).toEqual({ threads: 1 });
});

it.each([
  ['inline', { created: 1, threads: 0 }],
  ['worker', { created: 0, threads: 1 }],
])('take the memory and the thread of one, however often it is loaded (%s)', (isolation, taken) => {
  const program = `
    const models = [];
    for (let load = 0; load < 12; load += 1) {
      models.push((await loadModel('sentiment-classification', { isolation: '${isolation}' }))._unsafeUnwrap());
    }
    const asked = await Promise.all([models[0], models[11]].map((model) => model.predict('good')));
    for (const answer of asked) answer._unsafeUnwrap();
    console.log(JSON.stringify({ created: sessions.created, threads }));`;
  expect(resultOf(program)).toEqual(taken);
});
