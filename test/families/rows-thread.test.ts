import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type ClassificationArchiveOptions,
  createClassificationArchive,
  createRetrievalArchive,
  createSequenceArchive,
  makeArchiveWithin,
  writeArchiveHere,
} from '../../src/families/index.js';
import { errorOf, failureOf, resultOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** Archives of many rows are made in a thread of their own. */

const type = 'multiclass-text-classification';
const name = 'many';

const rows = (count: number) =>
  Array.from({ length: count }, (_, row) => ({ text: `row ${row} says "${row % 9}"`, label: `l${row % 3}` }));

/** Threads that are started from now on. */
function startedThreads(): readonly Worker[] {
  const started: Worker[] = [];
  const note = (worker: Worker) => started.push(worker);
  process.on('worker', note);
  onTestFinished(() => void process.off('worker', note));
  return started;
}

/** A thread without an id has ended. */
const hasEnded = ({ threadId }: Worker): boolean => threadId === -1;

function csvOf(count: number): string {
  const path = join(temporaryDirectory(), 'rows.csv');
  const lines = rows(count).map(({ text, label }) => `"${text.replaceAll('"', '""')}",${label}`);
  writeFileSync(path, `text,label\n${lines.join('\n')}\n`);
  return path;
}

async function both(options: ClassificationArchiveOptions) {
  const [here, there] = [join(temporaryDirectory(), 'a.zip'), join(temporaryDirectory(), 'b.zip')];
  await writeArchiveHere({ kind: 'classification', options, outputPath: here });
  const summary = await resultOf(createClassificationArchive(options, there));
  return { here: readFileSync(here), there: readFileSync(there), summary };
}

describe('an archive of many rows', () => {
  it.each([
    ['in memory', () => rows(2000)],
    ['as they come', () => new Set(rows(2000))],
    ['of a file', () => ({ path: csvOf(2000) })],
  ])('of rows %s is made in a thread, and the same as in this one', async (_, source) => {
    const threads = startedThreads();
    const { here, there, summary } = await both({ type, name, rows: source() });
    expect(threads).toHaveLength(1);
    expect(threads.every(hasEnded)).toBe(true);
    expect(there.equals(here)).toBe(true);
    expect(summary).toMatchObject({ train: 1799, dev: 201, labels: ['l0', 'l1', 'l2'] });
  });

  it('is made in this thread where there are few, without a file or with one', async () => {
    const threads = startedThreads();
    await both({ type, name, rows: rows(100) });
    await both({ type, name, rows: { path: csvOf(100) } });
    expect(threads).toHaveLength(0);
  });

  it('has sentences, questions and passages, too', async () => {
    const threads = startedThreads();
    const words = rows(600).map(({ text }) => text.split(' '));
    const sentences = words.map((words) => ({ words, tags: words.map((_, at) => (at === 1 ? 'B-ROW' : 'O')) }));
    const questions = rows(600).map(({ text, label }) => ({ question: text, context: label }));
    const path = join(temporaryDirectory(), 'any.zip');
    const made = await resultOf(createSequenceArchive({ name, rows: sentences }, path));
    expect(made).toMatchObject({ train: 540, dev: 60, entityTypes: ['ROW'] });
    const passages = ['one more'];
    expect(await resultOf(createRetrievalArchive({ name, rows: questions, passages }, path))).toMatchObject({
      train: 540,
      passages: 4,
    });
    expect(threads).toHaveLength(2);
  });

  it('fails with the same problems as in this thread', async () => {
    const wrong = [...rows(700), { text: ' ', label: 'l0' }, { text: 'two', label: '' }];
    const outputPath = join(temporaryDirectory(), 'any.zip');
    const options = { type, name, rows: wrong } as const;
    const here = await failureOf('dataset', () => writeArchiveHere({ kind: 'classification', options, outputPath }));
    const there = await errorOf(createClassificationArchive(options, outputPath));
    expect(there).toMatchObject({ code: 'dataset', message: here.message, problems: here.problems });
    expect(there).toBeInstanceOf(here.constructor);
  });

  it('reads rows that can’t be sent as they are: of classes, with functions beside their fields, behind proxies', async () => {
    class Row {
      constructor(
        readonly text: string,
        readonly labels: readonly string[],
      ) {}
      say = () => this.text;
    }
    const made = rows(800).map(({ text, label }) => new Row(text, new Proxy([label], {})));
    const { here, there } = await both({ type, name, rows: made });
    expect(there.equals(here)).toBe(true);
  });

  it('throws what the iterator of the rows throws', async () => {
    const threads = startedThreads();
    function* broken() {
      yield* rows(900);
      throw new TypeError('no more rows');
    }
    const path = join(temporaryDirectory(), 'any.zip');
    const error = await errorOf(createClassificationArchive({ type, name, rows: broken() }, path));
    expect(error).toMatchObject({ code: 'internal' });
    expect(error.message).toContain('no more rows');
    expect(threads.every(hasEnded)).toBe(true);
  });
});

describe('a signal', () => {
  it('ends the thread, and leaves no file', async () => {
    const threads = startedThreads();
    const path = join(temporaryDirectory(), 'out', 'any.zip');
    const stop = new AbortController();
    process.once('worker', () => stop.abort());
    const options = { type, name, rows: { path: csvOf(20_000) }, signal: stop.signal } as const;
    const error = await errorOf(createClassificationArchive(options, path));
    expect(error).toMatchObject({ code: 'aborted', message: `making ${path} was aborted` });
    expect(threads).toHaveLength(1);
    expect(threads.every(hasEnded)).toBe(true);
    expect(existsSync(dirname(path)) ? readdirSync(dirname(path)) : []).toEqual([]);
  });

  it('that has fired keeps a thread from being started', async () => {
    const threads = startedThreads();
    const options = { type, name, rows: rows(5000), signal: AbortSignal.abort() } as const;
    const error = await errorOf(createClassificationArchive(options, join(temporaryDirectory(), 'any.zip')));
    expect(error.code).toBe('aborted');
    expect(threads).toHaveLength(0);
  });

  it('stops what reads the rows of an iterator', async () => {
    const stop = new AbortController();
    let read = 0;
    function* endless() {
      for (;;) {
        read += 1;
        if (read === 20_000) stop.abort();
        yield { text: `row ${read}`, label: `l${read % 3}` };
      }
    }
    const options = { type, name, rows: endless(), signal: stop.signal } as const;
    const error = await errorOf(createClassificationArchive(options, join(temporaryDirectory(), 'any.zip')));
    expect(error.code).toBe('aborted');
  });
});

describe('limits', () => {
  const within = (limits: Parameters<typeof makeArchiveWithin>[1], count: number) => {
    const outputPath = join(temporaryDirectory(), 'any.zip');
    return failureOf('dataset', () =>
      makeArchiveWithin(
        { kind: 'classification', options: { type, name, rows: { path: csvOf(count) } }, outputPath },
        limits,
      ),
    );
  };

  it('of memory end the thread alone', async () => {
    const { problems } = await within({ memoryLimit: 2 ** 26 }, 400_000);
    expect(problems).toEqual([
      {
        file: 'rows.csv',
        found: 'found rows that take more memory than 64 MiB',
        expected: 'fewer rows or shorter texts',
      },
    ]);
  });

  it('of time end it, too', async () => {
    const threads = startedThreads();
    const { problems } = await within({ timeoutMs: 1 }, 5000);
    expect(problems[0]?.found).toBe('found rows that take longer than 0.001 s to read');
    expect(threads.every(hasEnded)).toBe(true);
  });
});
