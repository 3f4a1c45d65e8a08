import { cpSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { run } from './run-command.js';

/** What a command reads is never written over. */

const ROWS = 'text,label\nit is good,yes\nit is bad,no\n';
const model = fileURLToPath(new URL('../../models/catalogue/sentiment-classification', import.meta.url));

/** A folder with rows.csv, which has another name and a link to it, and with `old`, a model and an index in one. */
function aFolder() {
  const folder = temporaryDirectory();
  const place = (name: string) => join(folder, name);
  writeFileSync(place('rows.csv'), ROWS);
  linkSync(place('rows.csv'), place('same.csv'));
  symlinkSync(place('rows.csv'), place('link.csv'));
  mkdirSync(place('old'));
  for (const name of ['config.json', 'search.json']) writeFileSync(place(`old/${name}`), '{}');
  writeFileSync(place('old/rows.csv'), ROWS);
  return place;
}

describe('an output that is also an input', () => {
  it.each<[string, string, string]>([
    ['evaluate sentiment-classification @rows.csv --report @rows.csv', '--report', 'rows.csv'],
    ['evaluate sentiment-classification @rows.csv --report @same.csv', '--report', 'same.csv'],
    ['evaluate sentiment-classification @link.csv --report @rows.csv', '--report', 'rows.csv'],
    [
      'evaluate sentiment-classification @rows.csv --rules @old/rows.csv --report @old/rows.csv',
      '--report',
      'rows.csv',
    ],
    ['evaluate @old @rows.csv --report @old/config.json', '--report', 'config.json'],
    ['cross-validate @rows.csv --answers @link.csv', '--answers', 'link.csv'],
    ['archive @rows.csv --type binary-text-classification --output @rows.csv', '--output', 'rows.csv'],
    ['archive @old/rows.csv --type binary-text-classification --dev @rows.csv -o @link.csv', '--output', 'link.csv'],
    ['train @old/rows.csv --output @old', '--output', 'old'],
    ['train @rows.csv --test @old/rows.csv --output @old', '--output', 'old'],
    ['tune @rows.csv --space @old/rows.csv --output @old', '--output', 'old'],
    ['distill @old/rows.csv --teacher sentiment-classification --output @old', '--output', 'old'],
    ['search @old/rows.csv --save @old', '--save', 'old'],
  ])('is refused before anything is written: %s', async (line, flag, output) => {
    const place = aFolder();
    const { exitCode, stdout, stderr } = await run(
      line.split(' ').map((word) => (word.startsWith('@') ? place(word.slice(1)) : word)),
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(`: ${flag}: writing .*${output} would destroy .*, which is read; give another`));
    for (const name of ['rows.csv', 'same.csv', 'old/rows.csv']) expect(readFileSync(place(name), 'utf8')).toBe(ROWS);
    expect(readdirSync(place('old')).sort()).toEqual(['config.json', 'rows.csv', 'search.json']);
  });

  it('is refused for the model that orchard export copies', async () => {
    const copy = join(temporaryDirectory(), 'copy');
    cpSync(model, copy, { recursive: true });
    const config = readFileSync(join(copy, 'config.json'), 'utf8');
    for (const args of [
      [copy, '--precision', 'int8'],
      [join(copy, 'config.json'), '--for', 'web'],
    ]) {
      const { exitCode, stderr } = await run(['export', copy, ...args]);
      expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(`would destroy ${copy}, `) });
    }
    expect(readFileSync(join(copy, 'config.json'), 'utf8')).toBe(config);
  });
});

it('orchard evaluate writes its report over an earlier one', async () => {
  const place = aFolder();
  writeFileSync(place('report.html'), 'earlier');
  const rows = place('rows.csv');
  writeFileSync(rows, 'text,label\nit is good,positive\nit is bad,negative\n');
  const evaluated = await run(['evaluate', model, rows, '--resamples', '100', '--report', place('report.html')]);
  expect(evaluated.exitCode).toBe(0);
  expect(readFileSync(place('report.html'), 'utf8')).toMatch(/^<!doctype html>/i);
});
