import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkData, crossValidate, type LabelledRow } from '../../src/index.js';
import { rows as clean } from '../public/sentiments.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';
import { errorOf, resultOf } from '../support/outcomes.js';

/** Which row a finding is about: its position in what was given, and in a file its line. */

const WRONG = [3, 12, 25, 31, 44, 58, 66, 79];
const noisy = clean.map((row, at) =>
  WRONG.includes(at) ? { ...row, label: row.label === 'positive' ? 'negative' : 'positive' } : row,
);
/** Rows of which those at 0, 21 and the end are left out. */
const blank = { text: ' ', label: 'positive' };
const withBlank = [blank, ...noisy.slice(0, 20), blank, ...noisy.slice(20), blank];

let folder: string;
let model: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'orchard-positions-'));
  model = writeCheckpoint(join(folder, 'base'));
});
afterAll(() => rm(folder, { recursive: true }));

const check = (options: Parameters<typeof checkData>[0]) => resultOf(checkData({ model, threads: 1, ...options }));

const divided = (options: Parameters<typeof crossValidate<LabelledRow>>[0]) =>
  crossValidate<LabelledRow>({ base: model, folds: 2, epochs: 1, threads: 1, resamples: 100, ...options });

async function fileOf(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

describe('rows that share a line', () => {
  it('are told apart', async () => {
    const path = await fileOf('rows.json', JSON.stringify(noisy));
    const [inFile, inMemory] = [await check({ path }), await check({ rows: noisy })];
    expect(inMemory.doubtful.length).toBeGreaterThan(WRONG.length / 2);
    expect(inFile.doubtful).toEqual(inMemory.doubtful.map((each) => ({ ...each, line: 1 })));
  });
});

describe('rows in memory, some of which are left out', () => {
  it('are found by `checkData` where they were given', async () => {
    const rows = [...withBlank, ...noisy.slice(0, 1)];
    const test = [blank, ...noisy.slice(0, 1)];
    const { doubtful, duplicates, leaks } = await check({ rows, test, skipInvalid: true });
    expect(doubtful.length).toBeGreaterThan(0);
    for (const { row, text, given, ...others } of doubtful) {
      expect(rows[row]).toEqual({ text, label: given[0] });
      expect(others).not.toHaveProperty('line');
    }
    const same = [{ row: 1 }, { row: withBlank.length }];
    expect(duplicates).toMatchObject([{ rows: same }]);
    expect(leaks).toMatchObject([{ rows: same, others: [{ row: 1 }] }]);
  });

  it('are found by `crossValidate` where they were given, and so are their groups', async () => {
    const groups = withBlank.map((_, at) => `group ${Math.floor(at / 4)}`);
    const kept = [...withBlank.keys()].filter((at) => withBlank[at] !== blank);
    const seen: number[] = [];
    const byFunction = (row: LabelledRow, at: number) => {
      expect(row).toEqual(withBlank[at]);
      seen.push(at);
      return groups[at] ?? '';
    };
    const options = { rows: withBlank, skipInvalid: true };
    const { answers, doubtful } = await resultOf(divided({ ...options, groups: byFunction }));
    expect(seen).toEqual(kept);
    expect(answers.map(({ row }) => row)).toEqual(kept);
    expect(doubtful.length).toBeGreaterThan(0);
    for (const { row, text, given, ...others } of doubtful) {
      expect(withBlank[row]).toEqual({ text, label: given[0] });
      expect(others).not.toHaveProperty('line');
    }
    const inArray = await resultOf(divided({ ...options, groups }));
    expect(inArray.answers).toEqual(answers);
    expect((await errorOf(divided({ ...options, groups: groups.slice(3) }))).message).toMatch(
      /found 80 groups for 83 rows/,
    );
  });
});

describe('rows of a file, some of which are left out', () => {
  const content = withBlank.map((row) => JSON.stringify(row)).join('\n');

  it.each(['checkData', 'crossValidate'])(
    'have their positions among the others, and their lines: %s',
    async (name) => {
      const options = { path: await fileOf('rows.jsonl', content), skipInvalid: true };
      const { doubtful } = await (name === 'checkData' ? check(options) : resultOf(divided(options)));
      expect(doubtful.length).toBeGreaterThan(0);
      for (const { row, line = 0, text, given } of doubtful) {
        expect(noisy[row]).toEqual({ text, label: given[0] });
        expect(withBlank[line - 1]).toEqual(noisy[row]);
      }
    },
  );

  it('are judged without those that only the type of model refuses', async () => {
    const soft = noisy.map(({ text, label }) => ({ text, labels: { [label]: 1 } }));
    const rows = [{ text: 'no certain label', labels: { positive: 0.5, negative: 0.2 } }, ...soft];
    const { warnings } = await check({ rows, skipInvalid: true, type: 'binary-text-classification' });
    expect(warnings).toMatchObject([{ kind: 'invalid_row', count: 1 }]);
  });
});
