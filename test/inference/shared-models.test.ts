import { cp, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type LoadModelOptions, loadModel, type Model, suggestTexts } from '../../src/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** Models that are opened again and again, as development servers do: a folder is loaded once in a process. */

const catalogue = join(import.meta.dirname, '../../models/catalogue');
const text = 'Works perfectly, would buy again.';

/** Each loaded model then has one thread from the start. */
const inThread: LoadModelOptions = { isolation: 'worker', workers: 1 };

async function folderOf(model: string): Promise<string> {
  const directory = join(temporaryDirectory(), 'model');
  await cp(join(catalogue, model), directory, { recursive: true });
  return directory;
}

async function opened(model: string, options: LoadModelOptions = inThread): Promise<Model> {
  const loaded = (await loadModel(model, options))._unsafeUnwrap();
  onTestFinished(() => loaded.close());
  return loaded;
}

/** How many threads have started since. */
function startedThreads(): () => number {
  let count = 0;
  const started = () => {
    count += 1;
  };
  process.on('worker', started);
  onTestFinished(() => void process.off('worker', started));
  return () => count;
}

const answerOf = async (model: Model) => (await model.predict(text))._unsafeUnwrap();
const labelOf = async (model: Model) => {
  const answer = await answerOf(model);
  return 'label' in answer ? answer.label : undefined;
};

describe('models of one folder', () => {
  it('are loaded once, also through a link and at the same time', async () => {
    const threads = startedThreads();
    const directory = await folderOf('customer-review');
    const link = join(temporaryDirectory(), 'link');
    await symlink(directory, link, 'junction');
    const models = await Promise.all([opened(directory), opened(directory), opened(link)]);
    models.push(await opened(directory));
    expect(new Set(await Promise.all(models.map(labelOf)))).toEqual(new Set(['positive']));
    expect(models.map((model) => model.directory)).toEqual([directory, directory, link, directory]);
    expect(threads()).toBe(1);
  });

  it('answer until each of them is closed, and free the model then', async () => {
    const threads = startedThreads();
    const directory = await folderOf('customer-review');
    const [first, second] = [await opened(directory), await opened(directory)];
    await Promise.all([first.close(), first.close()]);
    expect((await first.predict(text))._unsafeUnwrapErr().code).toBe('closed');
    expect(await labelOf(second)).toBe('positive');
    await second.close();
    expect(await labelOf(await opened(directory))).toBe('positive');
    expect(threads()).toBe(2);
  });

  it('answer what was asked before one of them is closed', async () => {
    const directory = await folderOf('customer-review');
    const [first] = [await opened(directory), await opened(directory)];
    let answered = 0;
    const asked = Array.from({ length: 300 }, () => first.predict(text).map(() => (answered += 1)));
    await first.close();
    expect(answered).toBe(300);
    await Promise.all(asked);
  });

  it('are loaded again while the last of them is closing', async () => {
    const directory = await folderOf('customer-review');
    const first = await opened(directory);
    const [second] = await Promise.all([opened(directory), first.close()]);
    const [third] = await Promise.all([opened(directory), second.close()]);
    expect(await labelOf(third)).toBe('positive');
  });

  it('have a model of their own if they are run in another way', async () => {
    const threads = startedThreads();
    const directory = await folderOf('customer-review');
    await opened(directory);
    await opened(directory, { ...inThread, threads: 1 });
    await opened(directory, { ...inThread, memoryLimit: 2 ** 30 });
    await opened(directory, { ...inThread, idleMs: Number.POSITIVE_INFINITY });
    await opened(directory, { isolation: 'inline' });
    expect(threads()).toBe(4);
  });

  it('take turns: one with a full queue refuses nothing to the others', async () => {
    const options: LoadModelOptions = { ...inThread, maxWaiting: 50 };
    const directory = await folderOf('customer-review');
    const [busy, other] = [await opened(directory, options), await opened(directory, options)];
    const many = Array.from({ length: 200 }, () => busy.predict(text));
    expect((await other.predict(text)).isOk()).toBe(true);
    await Promise.all(many);
  });

  it('are one for a module that is evaluated again', async () => {
    const threads = startedThreads();
    const directory = await folderOf('customer-review');
    await opened(directory);
    vi.resetModules();
    const again = await import('../../src/index.js');
    expect(again.loadModel).not.toBe(loadModel);
    const model = (await again.loadModel(directory, inThread))._unsafeUnwrap();
    onTestFinished(() => model.close());
    expect(await model.predict(text).map((answer) => answer.kind)).toMatchObject({ value: 'labels' });
    expect(threads()).toBe(1);
  });
});

describe('a folder that is written again between two loads', () => {
  it('is loaded again if another model has replaced it', async () => {
    const directory = await folderOf('customer-review');
    const before = await opened(directory);
    await rename(directory, `${directory}.old`);
    await cp(join(catalogue, 'emotion-detection'), directory, { recursive: true });
    const after = await opened(directory);
    expect(after.labels).not.toEqual(before.labels);
    expect(await labelOf(before)).toBe('positive');
    expect(after.labels).toContain(await labelOf(after));
  });

  it('is loaded again if a file has another content of the same size and date', async () => {
    const directory = await folderOf('customer-review');
    const before = await opened(directory);
    const file = join(directory, 'config.json');
    const { atime, mtime } = await stat(file);
    await utimes(file, atime, mtime); // whole milliseconds, as `after` will have
    const first = await opened(directory);
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('positive', 'evitisop'));
    await utimes(file, atime, mtime);
    const after = await opened(directory);
    expect([await labelOf(before), await labelOf(first), await labelOf(after)]).toEqual([
      'positive',
      'positive',
      'evitisop',
    ]);
  });

  it('is what it was if a file was added that is none of the model', async () => {
    const directory = await folderOf('customer-review');
    const model = await opened(directory, {});
    await writeFile(join(directory, 'notes.json'), '[]');
    // Too long for the calling thread: another one loads the model.
    expect((await model.predict(`${text} `.repeat(400))).isOk()).toBe(true);
  });

  it('never answers as the other model, not even after its threads have ended', async () => {
    const directory = await folderOf('customer-review');
    const model = await opened(directory, { isolation: 'inline', idleMs: 1 });
    await answerOf(model);
    await rename(directory, `${directory}.old`);
    await cp(join(catalogue, 'emotion-detection'), directory, { recursive: true });
    // Its memory is freed at the first look after the work, a second later at most.
    await vi.waitFor(
      async () =>
        expect((await model.predict(text))._unsafeUnwrapErr().message).toContain('it has changed since the model'),
      { timeout: 10_000, interval: 2000 },
    );
  });
});

describe('loads that wait for the same model', () => {
  it('fail together, and the next one tries again', async () => {
    const directory = await folderOf('customer-review');
    const graph = join(directory, 'onnx/model_quantized.onnx');
    await rename(graph, `${graph}.away`);
    await writeFile(graph, 'damaged');
    const failed = await Promise.all([loadModel(directory, inThread), loadModel(directory, inThread)]);
    expect(failed.map((result) => result._unsafeUnwrapErr().code)).toEqual(['model_folder', 'model_folder']);
    await rm(graph);
    await rename(`${graph}.away`, graph);
    expect(await labelOf(await opened(directory))).toBe('positive');
  });

  it('are aborted one by one', async () => {
    const threads = startedThreads();
    const directory = await folderOf('customer-review');
    const aborted = new AbortController();
    const both = [
      loadModel(directory, { ...inThread, signal: aborted.signal }),
      loadModel(directory, inThread),
    ] as const;
    aborted.abort();
    const [first, second] = await Promise.all(both);
    expect(first._unsafeUnwrapErr().code).toBe('aborted');
    const model = second._unsafeUnwrap();
    expect(await labelOf(model)).toBe('positive');
    await model.close();
    expect((await loadModel(directory, { ...inThread, signal: AbortSignal.abort() }))._unsafeUnwrapErr().code).toBe(
      'aborted',
    );
    expect(await labelOf(await opened(directory))).toBe('positive');
    expect(threads()).toBeGreaterThanOrEqual(1);
  });
});

it('a copy of a model that was loaded is that model, whatever its folder holds by now', async () => {
  const directory = await folderOf('customer-review');
  const model = await opened(directory);
  const [card, report] = [(await model.card())._unsafeUnwrap(), (await model.report())._unsafeUnwrap()];
  await rename(directory, `${directory}.old`);
  await rm(`${directory}.old`, { recursive: true });
  await cp(join(catalogue, 'emotion-detection'), directory, { recursive: true });

  const copy = join(temporaryDirectory(), 'copy');
  expect(await model.save(copy)).toMatchObject({ value: undefined });
  expect(await answerOf(await opened(copy))).toEqual(await answerOf(model));
  expect((await model.card())._unsafeUnwrap()).toBe(card);
  expect((await model.report())._unsafeUnwrap()).toBe(report);
});

describe('vectors of a model', () => {
  const texts = [
    'it works',
    'it broke',
    'a fine lamp',
    'awful room',
    'my order',
    'so so',
    'great',
    'no',
    'yes',
    'help',
  ];
  /** What needs the vectors of its encoder. */
  const resultsOf = async (model: Model) => {
    const suggested = await suggestTexts(model, texts, { count: 3 });
    return { suggested: suggested._unsafeUnwrap(), baseline: (await model.baseline({ texts }))._unsafeUnwrap() };
  };

  it('are those of the model that was loaded, whatever its folder holds by now', async () => {
    const directory = await folderOf('customer-review');
    const model = await opened(directory);
    const before = await resultsOf(model);
    await rename(directory, `${directory}.old`);
    expect(await resultsOf(model)).toEqual(before);
    await cp(join(catalogue, 'emotion-detection'), directory, { recursive: true });
    expect(await resultsOf(model)).toEqual(before);
  });

  it('are refused if the files of its encoder were overwritten', async () => {
    const directory = await folderOf('customer-review');
    const model = await opened(directory);
    const graph = 'onnx/model_quantized.onnx';
    await writeFile(join(directory, graph), await readFile(join(catalogue, 'emotion-detection', graph)));
    const refused = { code: 'model_folder', message: expect.stringContaining('it has changed since the model was') };
    expect((await suggestTexts(model, texts, { count: 3 }))._unsafeUnwrapErr()).toMatchObject(refused);
    expect((await model.baseline({ texts }))._unsafeUnwrapErr()).toMatchObject(refused);
  });
});
