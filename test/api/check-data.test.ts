import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkData, train } from 'orchard-nlp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rows as clean } from '../public/sentiments.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';

/** What `checkData` and `train` say about mistakes in data. */

/** Rows that are labelled wrongly: with them, a tenth of 80 are. */
const WRONG = [3, 12, 25, 31, 44, 58, 66, 79];
const noisy = clean.map((row, at) =>
  WRONG.includes(at) ? { ...row, label: row.label === 'positive' ? 'negative' : 'positive' } : row,
);

let folder: string;
let model: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-check-'));
  model = writeCheckpoint(join(folder, 'base'));
});
afterAll(() => rm(folder, { recursive: true }));

const check = async (options: Parameters<typeof checkData>[0]) =>
  (await checkData({ model, threads: 1, ...options }))._unsafeUnwrap();

const failure = async (options: Parameters<typeof checkData>[0]) => {
  const checked = await checkData({ model, threads: 1, ...options });
  if (checked.isOk()) throw new Error('it was checked');
  return checked.error;
};

const ascending = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);

describe('labels that are wrong', () => {
  it('are found, counted and listed first', async () => {
    const { labelErrors, doubtful, confusions, rows } = await check({ rows: noisy });
    expect(rows).toBe(80);
    expect(labelErrors).toEqual({ judged: 80, expected: expect.any(Number), isEvident: true });
    expect(Math.abs((labelErrors?.expected ?? 0) - WRONG.length)).toBeLessThanOrEqual(2);
    const first = doubtful.slice(0, WRONG.length);
    expect(ascending(first.map(({ row }) => row))).toEqual(WRONG);
    for (const { row, text, given, suggested, probability, score } of first) {
      expect({ text, label: given[0] }).toEqual(noisy[row]);
      expect(suggested).toEqual([clean[row]?.label]);
      expect(probability).toBeGreaterThan(0);
      expect(probability + score).toBeGreaterThan(0.5);
    }
    expect(confusions).toEqual([{ labels: ['negative', 'positive'], rows: doubtful.length }]);
  });

  it('are not found where there are none', async () => {
    expect((await check({ rows: clean })).labelErrors).toMatchObject({ expected: 0, isEvident: false });
  });

  it('are those of a sample of many rows, with their lines', async () => {
    const names = Array.from({ length: 3 }, (_, at) => `nr ${at}`);
    const many = names.flatMap((name) => noisy.map(({ text, label }) => `${text} ${name},${label}`));
    const path = join(folder, 'many.csv');
    await writeFile(path, `text,label\n${many.join('\n')}\n`);
    const { labelErrors, doubtful, rows } = await check({ path, maxJudged: 120 });
    expect(rows).toBe(240);
    expect(labelErrors?.judged).toBe(120);
    expect(doubtful.length).toBeGreaterThan(0);
    for (const { row, line, text, given } of doubtful) {
      expect(line).toBe(row + 2);
      expect(`${text},${given[0]}`).toBe(many[row]);
    }
  });

  it('are judged for rows with several labels too', async () => {
    const rows = clean.map(({ text, label }) => ({ text, labels: text.startsWith('the') ? [label, 'the'] : [label] }));
    const lacking = rows.map((row, at) => (at === 0 ? { ...row, labels: ['positive'] } : row));
    const [first] = (await check({ rows: lacking })).doubtful;
    expect(first).toMatchObject({ row: 0, given: ['positive'], suggested: ['positive', 'the'] });
  });

  it('are what training warns about, of few rows and of many', async () => {
    const warningsOf = async (options: Parameters<typeof train>[0]) => {
      const trained = (await train({ base: model, threads: 1, ...options }))._unsafeUnwrap();
      await trained.close();
      return trained.training.warnings.filter(({ kind }) => kind === 'doubtful_label');
    };
    expect(await warningsOf({ rows: clean })).toEqual([]);
    for (const options of [{}, { epochs: 1, tuning: { quantize: false } }]) {
      const [warning] = await warningsOf({ rows: noisy, ...options });
      expect(Math.abs((warning?.count ?? 0) - WRONG.length)).toBeLessThanOrEqual(2);
      expect(warning?.examples).toHaveLength(5);
      for (const { file, line } of warning?.examples ?? []) {
        expect(file).toBe('rows');
        expect(WRONG).toContain(line - 1);
      }
    }
  });
});

describe('rows with the same text', () => {
  const base = clean.slice(0, 20);

  it('are repeated, contradictory, or in dev and test too', async () => {
    const rows = [
      ...base,
      { text: ' The  PHONE works perfectly', label: 'positive' },
      { text: 'the phone works perfectly', label: 'negative' },
    ];
    const dev = [{ text: 'nothing of the kind', label: 'negative' }];
    const test = [...dev, { text: 'This lamp is great', label: 'positive' }];
    const at = base.findIndex(({ text }) => text === 'this lamp is great');
    const { duplicates, conflicts, leaks } = await check({ rows, dev, test });
    const text = 'the phone works perfectly';
    expect(duplicates).toEqual([{ text, rows: [{ row: 0 }, { row: 20 }] }]);
    const positive = ['positive'];
    expect(conflicts).toEqual([
      {
        text,
        rows: [
          { row: 0, given: positive },
          { row: 20, given: positive },
          { row: 21, given: ['negative'] },
        ],
      },
    ]);
    expect(leaks).toEqual([{ text: 'this lamp is great', set: 'test', rows: [{ row: at }], others: [{ row: 1 }] }]);
  });

  it('come with the warnings of all files', async () => {
    const file = async (name: string, column: string) => {
      const path = join(folder, name);
      const lines = base.map(({ text, label }) => `${text},${label},x`);
      await writeFile(path, `text,label,${column}\n${lines.join('\n')}\n`);
      return path;
    };
    const { warnings } = await check({
      path: await file('a.csv', 'one'),
      dev: await file('dev.csv', 'two'),
      test: await file('test.csv', 'three'),
    });
    expect(warnings.filter(({ kind }) => kind === 'unread_column').map(({ message }) => message)).toEqual([
      'a.csv: the column "one" is not used',
      'dev.csv: the column "two" is not used',
      'test.csv: the column "three" is not used',
    ]);
  });

  it('are compared for sentences and questions, whose labels are not judged', async () => {
    const tagged = ['Rome', 'Oslo', 'Bern', 'Lima'].map((town) => ({ tokens: ['in', town], tags: ['O', 'B-TOWN'] }));
    const sentences = [
      ...tagged,
      { tokens: ['in', 'Rome'], tags: ['O', 'O'] },
      { tokens: ['in', 'Oslo'], tags: ['O', 'B-TOWN'] },
    ];
    const found = await check({ rows: sentences });
    expect(found.type).toBe('named-entity-recognition');
    expect(found.labels).toEqual([{ label: 'TOWN', rows: 5 }]);
    expect(found.labelErrors).toBeUndefined();
    expect(found.doubtful).toEqual([]);
    expect(found.duplicates).toEqual([{ text: 'in Oslo', rows: [{ row: 1 }, { row: 5 }] }]);
    expect(found.conflicts).toEqual([
      {
        text: 'in Rome',
        rows: [
          { row: 0, given: ['Rome (TOWN)'] },
          { row: 4, given: [] },
        ],
      },
    ]);

    const questions = ['who?', 'where?', 'when?', 'who?'].map((question, at) => ({
      question,
      passage: `passage ${at}`,
    }));
    const asked = await check({ rows: questions });
    expect(asked.conflicts).toEqual([]); // a question may have several answers
    expect(asked.duplicates).toEqual([]);
  });
});

describe('labels', () => {
  it('look alike, or have few rows', async () => {
    const named = (label: string, count: number) =>
      Array.from({ length: count }, (_, at) => ({ text: `text ${at} of ${label}`, label }));
    const rows = [
      ...named('card_arrival', 6),
      ...named('Card arrival', 5),
      ...named('card_arival', 1),
      ...named('class 1', 20),
      ...named('class 2', 2),
      ...named('sports', 6),
      ...named('ports', 6),
    ];
    const { labels, similarLabels, rareLabels } = await check({ rows });
    expect(labels[0]).toEqual({ label: 'class 1', rows: 20 });
    expect(similarLabels).toEqual([
      [
        { label: 'card_arrival', rows: 6 },
        { label: 'Card arrival', rows: 5 },
        { label: 'card_arival', rows: 1 },
      ],
    ]);
    expect(rareLabels).toEqual([
      { label: 'class 2', rows: 2 },
      { label: 'card_arival', rows: 1 },
    ]);
  });
});

describe('what can not be checked', () => {
  it('is named', async () => {
    expect(await failure({})).toMatchObject({ code: 'validation', message: expect.stringMatching(/rows/) });
    expect((await failure({ rows: [{ text: '', label: 'a' }, ...clean] })).message).toMatch(/empty text/);
    const test = [{ question: 'who?', passage: 'me' }];
    expect((await failure({ rows: clean, test })).message).toMatch(/test.*question and passage/s);
    expect((await failure({ rows: clean, maxJudged: 3 })).message).toMatch(/maxJudged/);
    const aborted = await failure({ rows: clean, signal: AbortSignal.abort() });
    expect(aborted.code).toBe('aborted');
  });
});
