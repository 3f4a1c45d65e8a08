import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  type Answer,
  embed,
  inferenceService,
  type LoadModelOptions,
  loadModel,
  Medley,
  type Model,
  memoryStorage,
  openSearch,
  Predictor,
  search,
  suggestTexts,
  train,
} from 'orchard-nlp';
import { describe, expect, it } from 'vitest';
import { run } from '../cli/run-command.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';
import { errorOf, resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** The option `runtime`: what holds for models that WebAssembly computes, by what ONNX Runtime answers. */

const texts = [
  'The film was a delight from start to finish.',
  'Angela Merkel met Tim Cook in Berlin on Monday, said Reuters.',
  '予約をキャンセルしてください',
  'What is attention in neural networks? 😀 naïve café',
  'no',
];
const long = 'The film was a delight from start to finish. '.repeat(100);

/** Of all numbers in two answers, which must be alike in everything else. Labels are compared in a fixed order. */
function largestDifference(given: unknown, expected: unknown): number {
  if (typeof given === 'number' && typeof expected === 'number') return Math.abs(given - expected);
  if (typeof given !== 'object' || given === null || typeof expected !== 'object' || expected === null) {
    expect(given).toEqual(expected);
    return 0;
  }
  expect(Object.keys(given)).toEqual(Object.keys(expected));
  const [ours, theirs] = [inOrder(given), inOrder(expected)];
  return ours.reduce((most: number, value, at) => Math.max(most, largestDifference(value, theirs[at])), 0);
}

function inOrder(value: object): unknown[] {
  if (!Array.isArray(value)) return Object.values(value);
  return value.every((each) => typeof each?.label === 'string')
    ? [...value].sort((a, b) => (a.label < b.label ? -1 : 1))
    : value;
}

const loaded = (name: string, options: LoadModelOptions = {}) => resultOf(loadModel<string>(name, options));
const inWasm = (name: string, options: LoadModelOptions = {}) => loaded(name, { runtime: 'wasm', ...options });

async function streamed(model: Model): Promise<Answer[]> {
  const answers: Answer[] = [];
  for await (const each of model.predict(texts.values())) answers.push(each._unsafeUnwrap());
  return answers;
}

describe.each(readdirSync('models/catalogue'))('the model %s', (name) => {
  it('gives the answers of ONNX Runtime, within 5e-3 in probabilities', async () => {
    await using wasm = await inWasm(name);
    await using onnx = await loaded(name, { runtime: 'onnx' });
    expect([wasm.runtime, onnx.runtime]).toEqual(['wasm', 'onnx']);
    const asked = [...texts, long];
    const [ours, theirs] = [await resultOf(wasm.predict(asked)), await resultOf(onnx.predict(asked))];
    expect(largestDifference(ours, theirs)).toBeLessThan(5e-3);
    expect(ours.map(({ truncated }) => truncated)).toEqual(theirs.map(({ truncated }) => truncated));
    const [alone, expected] = [await resultOf(wasm.predict('no')), theirs[4]];
    expect(largestDifference(alone, expected)).toBeLessThan(5e-3);
  });
});

describe('a model that WebAssembly computes', () => {
  const name = 'sentiment-classification';

  it.each(['auto', 'worker', 'inline'] as const)(
    'answers one text, many and streams alike, with isolation %s',
    async (isolation) => {
      await using model = await inWasm(name, { isolation, workers: 2 });
      const alone: Answer[] = [];
      for (const text of texts) alone.push(await resultOf(model.predict(text)));
      expect(await resultOf(model.predict(texts))).toEqual(alone);
      expect(await streamed(model)).toEqual(alone);
    },
  );

  it('explains its answers, redacts, tells when no label fits, and applies rules', async () => {
    await using wasm = await inWasm(name);
    await using onnx = await loaded(name, { runtime: 'onnx' });
    const explained = async (model: Model) => resultOf(model.explain(texts[0] ?? ''));
    expect(largestDifference(await explained(wasm), await explained(onnx))).toBeLessThan(0.05);
    const none = async (model: Model) => resultOf(model.predict('x1 y2 z3', { noneOfThese: true }));
    expect(largestDifference(await none(wasm), await none(onnx))).toBeLessThan(5e-3);
    await using ruled = await inWasm(name, { rules: [{ label: 'negative', pattern: 'refund' }] });
    expect(await resultOf(ruled.predict('a refund was a delight'))).toMatchObject({ label: 'negative' });
    await using people = await inWasm('named-entity-recognition');
    expect((await resultOf(people.redact(texts[1] ?? ''))).text).not.toContain('Merkel');
  });

  it('ends a call at its deadline, when it is aborted and when it is closed', async () => {
    const model = await inWasm(name, { isolation: 'worker', workers: 1 });
    const many = Array.from({ length: 500 }, (_, at) => `${long} ${at}`);
    expect(await errorOf(model.predict(many, { deadlineMs: 1 }))).toMatchObject({ code: 'deadline' });
    const stop = new AbortController();
    const asked = errorOf(model.predict(many, { signal: stop.signal }));
    stop.abort();
    expect(await asked).toMatchObject({ code: 'aborted' });
    expect(await resultOf(model.predict('no'))).toMatchObject({ kind: 'labels' });
    await model.close();
    expect(await errorOf(model.predict('no'))).toMatchObject({ code: 'closed' });
  });

  it('is shared by what is loaded with the same runtime only', async () => {
    await using first = await inWasm(name, { isolation: 'inline' });
    await using second = await inWasm(name, { isolation: 'inline' });
    await using other = await loaded(name, { isolation: 'inline', runtime: 'onnx' });
    expect([first.runtime, second.runtime, other.runtime]).toEqual(['wasm', 'wasm', 'onnx']);
    await first.close();
    expect(await resultOf(second.predict('no'))).toEqual(await resultOf((await inWasm(name)).predict('no')));
  });

  it('evaluates, compares texts with a baseline that ONNX Runtime made, and suggests texts', async () => {
    const folder = temporaryDirectory();
    const words = ['lamp', 'room', 'the', 'and'];
    const rows = Array.from({ length: 160 }, (_, at) => ({
      text: `${words[at % 4]} is ${at % 2 ? 'great' : 'awful'} ${words[(at >> 2) % 4]} ${at}`,
      label: at % 2 ? 'good' : 'bad',
    }));
    const base = writeCheckpoint(join(folder, 'base'));
    const options = { base, epochs: 1, threads: 1, output: join(folder, 'model') };
    await using trained = await resultOf(train({ rows: rows.slice(40), dev: rows.slice(0, 40), ...options }));
    await using wasm = await inWasm(join(folder, 'model'));
    const mistakes = async (model: Model) => (await resultOf(model.evaluate(rows))).mistakes.length;
    expect(await mistakes(wasm)).toBe(await mistakes(trained));
    const asked = rows.slice(0, 60).map(({ text }) => text);
    const [drift, expected] = [await resultOf(wasm.drift(asked)), await resultOf(trained.drift(asked))];
    expect([drift.alarm, drift.labels]).toEqual([expected.alarm, expected.labels]);
    expect(drift.vectors?.mmd).toBeCloseTo(expected.vectors?.mmd ?? Number.NaN, 3);
    expect(await resultOf(suggestTexts(wasm, asked, { count: 3 }))).toHaveLength(3);
  });

  it('is asked by predictors and medleys, and their stats name the runtime', async () => {
    const inference = inferenceService({ runtime: 'wasm', workers: 1 });
    await using predictor = new Predictor({ storage: memoryStorage(), inference });
    await using medley = new Medley({ runtime: 'wasm', workers: 1 });
    await using usual = new Predictor({ storage: memoryStorage(), workers: 1 });
    const query = texts[0] ?? '';
    const [ours, theirs] = [predictor, usual].map(
      async (each) => (await resultOf(each.predictPretrained(name, query))).data,
    );
    expect(largestDifference(await ours, await theirs)).toBeLessThan(5e-3);
    const { data } = await resultOf(medley.predict({ query, models: [name, 'emotion-detection'] }));
    expect(data[name]).toEqual(await ours);
    const runtimes = [predictor, medley, usual].map((each) => each.stats().models.map(({ runtime }) => runtime));
    expect(runtimes).toEqual([['wasm'], ['wasm', 'wasm'], ['onnx']]);
    await inference.close();
  });
});

describe('embed and search', () => {
  it('give the vectors and passages of ONNX Runtime', async () => {
    const [ours, theirs] = [
      await resultOf(embed(texts, { runtime: 'wasm' })),
      await resultOf(embed(texts, { runtime: 'onnx' })),
    ];
    for (const [at, vector] of ours.entries()) {
      const cosine = vector.reduce((sum, value, axis) => sum + value * (theirs[at]?.[axis] ?? 0), 0);
      expect(cosine).toBeGreaterThan(0.9999);
    }
    const passages = ['Cats sleep all day.', 'The train to Paris leaves at nine.', 'Bread is baked in an oven.'];
    const saved = join(temporaryDirectory(), 'index');
    await using made = await resultOf(search(passages, { runtime: 'wasm' }));
    await resultOf(made.save(saved));
    await using opened = await resultOf(openSearch(saved, { runtime: 'wasm' }));
    await using onnx = await resultOf(search(passages, { runtime: 'onnx' }));
    for (const index of [made, opened]) {
      const found = await resultOf(index.search('When does the train leave?'));
      expect(largestDifference(found, await resultOf(onnx.search('When does the train leave?')))).toBeLessThan(5e-3);
    }
  });
});

describe('the option runtime', () => {
  const refusal = { code: 'validation', problems: [{ loc: ['runtime'], type: 'unsupported' }] };

  it('refuses other values, and devices that WebAssembly has not', async () => {
    const unknown = { runtime: 'gpu' };
    // @ts-expect-error as from JavaScript
    expect(await errorOf(loadModel('sentiment-classification', unknown))).toMatchObject({ code: 'validation' });
    const device = { runtime: 'wasm', device: 'webgpu' } as const;
    expect(await errorOf(loadModel('sentiment-classification', device))).toMatchObject(refusal);
    expect(await errorOf(embed(['a'], device))).toMatchObject(refusal);
    expect(() => new Predictor({ storage: memoryStorage(), ...device })).toThrow('WebAssembly runs only on the CPU');
    await using auto = await inWasm('sentiment-classification', { device: 'auto' });
    expect(auto.runtime).toBe('wasm');
  });

  it('is --runtime on the command line', async () => {
    const predicted = await run(['predict', 'sentiment-classification', 'Works perfectly!', '--runtime', 'wasm']);
    expect(predicted).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^positive\t0\.9/) });
    const refused = await run(['predict', 'sentiment-classification', 'x', '--runtime', 'wasm', '--device', 'webgpu']);
    expect(refused.stderr).toContain('--runtime');
    expect((await run(['embed', 'x', '--runtime', 'gpu'])).stderr).toContain('Allowed choices are auto, onnx, wasm');
  });
});

describe('onnxruntime-node', () => {
  /** What a process loads, in all of its threads. */
  function loadedBy(runtime: string): string[] {
    const folder = temporaryDirectory();
    const hook = join(folder, 'hook.cjs');
    writeFileSync(
      hook,
      `const Module = require('node:module');
       const load = Module._load;
       Module._load = function (request, ...rest) {
         if (request.startsWith('onnxruntime')) require('node:fs').writeSync(1, 'loads ' + request + '\\n');
         return load.call(this, request, ...rest);
       };`,
    );
    const entry = pathToFileURL(fileURLToPath(new URL('../../dist/index.js', import.meta.url))).href;
    const program = `
      const { embed, loadModel, search, suggestTexts } = await import(${JSON.stringify(entry)});
      const text = 'What a lovely day';
      for (const isolation of ['worker', 'auto']) {
        const model = (await loadModel('sentiment-classification', { isolation, runtime: '${runtime}' }))._unsafeUnwrap();
        (await model.predict(text))._unsafeUnwrap();
        (await model.predict([text, 'awful', 'so so']))._unsafeUnwrap();
        (await model.explain(text))._unsafeUnwrap();
        (await model.evaluate([{ text, label: 'positive' }]))._unsafeUnwrap();
        (await suggestTexts(model, [text, 'awful', 'so so'], { count: 2 }))._unsafeUnwrap();
        await model.close();
      }
      (await embed([text, 'awful'], { runtime: '${runtime}' }))._unsafeUnwrap();
      const index = (await search([text, 'awful'], { runtime: '${runtime}' }))._unsafeUnwrap();
      (await index.search('lovely'))._unsafeUnwrap();
      console.log('done');
      process.exit();`;
    const args = ['--require', hook, '--input-type=module', '--eval', program];
    return execFileSync(process.execPath, args, { encoding: 'utf8' }).trim().split('\n');
  }

  it('is not loaded in any thread with the runtime wasm', () => {
    expect(loadedBy('wasm')).toEqual(['done']);
    expect(loadedBy('onnx')).toContain('loads onnxruntime-node');
  });
});
