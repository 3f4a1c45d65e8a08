import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { run } from './run-command.js';

/** `orchard train`: labels without rows, and errors that name what to type. */

const rows = Array.from({ length: 24 }, (_, row) => `text ${row} ${row % 2 ? 'good' : 'bad'},${row % 2 ? 'a' : 'b'}`);

function written(name: string, content: string): string {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, content);
  return path;
}

describe('orchard train --labels', () => {
  const model = () => join(temporaryDirectory(), 'model');

  it.each<[string, () => string]>([
    ['names', () => 'refund, complaint'],
    ['a JSON array', () => written('labels.json', '["refund", "complaint"]')],
    ['what each means', () => written('labels.json', '{"refund": "wants the money back", "complaint": "is angry"}')],
  ])('takes %s, and needs no rows', async (_, labels) => {
    const output = model();
    const trained = await run(['train', '--labels', labels(), '--output', output, '--json']);
    expect(trained).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(trained.stdout)).toMatchObject({
      labels: ['refund', 'complaint'],
      method: 'label-names',
      train: 0,
    });
    const asked = await run(['predict', output, 'I want my refund']);
    expect(asked.stdout).toMatch(/^refund\t/);
  });

  it('orders the labels of rows', async () => {
    const data = written('rows.csv', `text,label\n${rows.join('\n')}\n`);
    const options = ['--language', 'german', '--epochs', '1', '--output', model(), '--json'];
    const trained = await run(['train', data, '--labels', 'b,a', ...options]);
    expect(JSON.parse(trained.stdout)).toMatchObject({ labels: ['b', 'a'] });
  });

  it.each(['none.json', 'wrong.json'])('refuses %s', async (name) => {
    const path = name === 'none.json' ? join(temporaryDirectory(), name) : written(name, '{"refund": 5}');
    const { exitCode, stderr } = await run(['train', '--labels', path]);
    expect(exitCode).toBeGreaterThan(0);
    expect(stderr).toMatch(
      /--labels .*(none\.json: no such file|wrong\.json: give a JSON array of names, or an object)/,
    );
  });
});

describe('an error of orchard train', () => {
  const named = () => written('odd.csv', `body,stars\n${rows.join('\n')}\n`);
  const comma = () => written('comma.csv', 'text,label\na,"x,y"\nb,x\nc,y\n');

  it.each<[string, () => string[], RegExp]>([
    [
      'columns',
      () => [named()],
      /if yours have other names, choose the columns \(--text-column "body" --label-column "stars"\)$/m,
    ],
    ['a type', () => [comma()], /^--type: .*; pass --type 'multilabel-text-classification' if/],
    ['a number', () => [named(), '--learning-rate', '7'], /^--learning-rate: give a number of at most 1$/m],
    ['a language', () => [named(), '--language', 'klingon'], /^--language: "klingon" is not a known language/],
  ])('about %s names the flag', async (_, args, message) => {
    const { exitCode, stderr } = await run(['train', ...args()]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/`|learningRate|type: '/);
  });

  it('about output names the flag, before the file is read', async () => {
    const { exitCode, stderr } = await run([
      'train',
      join(temporaryDirectory(), 'none.csv'),
      '--output',
      join(named(), 'm'),
    ]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringMatching(/^--output: .* is a file; give a folder/),
    });
  });
});

it('orchard train names the rows of a warning as the file has them', async () => {
  const data = written('rows.csv', `text,label\n${[...rows, rows[3], rows[5]].join('\n')}\n`);
  const options = ['--language', 'german', '--epochs', '1', '--output', join(temporaryDirectory(), 'model')];
  const { stderr } = await run(['train', data, ...options]);
  expect(stderr).toMatch(/^warning: 2 repeated rows were left out; .* \(rows\.csv line 26, line 27\)$/m);
});

it('orchard train --skip-invalid counts the rows that it leaves out, and learns no label of theirs', async () => {
  const data = written('rows.csv', `text,label\n${rows.join('\n')}\n,a\nno label,\n`);
  const options = ['--language', 'german', '--epochs', '1', '--output', join(temporaryDirectory(), 'model')];
  expect((await run(['train', data, ...options])).exitCode).toBe(1);
  const trained = await run(['train', data, ...options, '--skip-invalid']);
  expect(trained.exitCode).toBe(0);
  expect(trained.stdout).toMatch(/binary-text-classification/);
  expect(trained.stderr).toMatch(/2 rows with a problem were left out, such as: rows\.csv line 26, column text/);
});
