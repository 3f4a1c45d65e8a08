import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rows } from '../public/sentiments.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';
import { run } from './run-command.js';

/** `orchard check`, `tune`, `cross-validate` and `suggest`: better data and models from the command line. */

let folder: string;
let data: string;
let quick: readonly string[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'orchard-cli-tuning-'));
  data = join(folder, 'reviews.csv');
  const lines = rows.map(({ text, label }, at) => `${text},${label},author ${at % 7}`);
  writeFileSync(data, `text,label,author\n${lines.join('\n')}\n`);
  quick = ['--base', writeCheckpoint(join(folder, 'base')), '--epochs', '1', '--threads', '1'];
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('orchard check', () => {
  it('prints what is wrong with the rows, each with its line', async () => {
    const wrong = [4, 41];
    const lines = rows.map(({ text, label }, at) => {
      const flipped = label === 'positive' ? 'negative' : 'positive';
      return `${text},${wrong.includes(at) ? flipped : label}`;
    });
    const flawed = join(folder, 'flawed.csv');
    const test = join(folder, 'test.csv');
    writeFileSync(flawed, `text,label\n${[...lines, 'It is great,positive', 'it is great,negative'].join('\n')}\n`);
    writeFileSync(test, 'text,label\nthe room is great,positive\n');
    const args = ['check', flawed, '--test', test, '--model', join(folder, 'base'), '--threads', '1'];
    const { exitCode, stdout } = await run(args);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^82 rows, binary-text-classification \(.*\); checked in \d+\.\d s$/m);
    for (const at of wrong)
      expect(stdout).toMatch(new RegExp(`^  line ${at + 2} +0\\.\\d{4}  .*→.*${rows[at]?.text}$`, 'm'));
    expect(stdout).toMatch(/^repeated rows, 1 to remove:\n {2}lines \d+, 82 {2}it is great$/m);
    expect(stdout).toMatch(/^ {2}line \d+ positive; line 82 positive; line 83 negative {2}it is great$/m);
    expect(stdout).toMatch(/^texts that are in other sets too:\n {2}line \d+, test line 2 {2}the room is great$/m);
    const json = JSON.parse((await run([...args, '--json'])).stdout);
    expect(json).toMatchObject({ rows: 82, leaks: [{ set: 'test', others: [{ row: 0, line: 2 }] }] });
  });
});

describe('orchard tune', () => {
  it('prints the trials, and writes the best model, which suggests texts', async () => {
    const output = join(folder, 'best');
    const space = join(folder, 'space.json');
    writeFileSync(space, '{"learningRate": [0.001]}');
    const args = ['tune', data, ...quick, '--output', output, '--space', space, '--trials', '2'];
    const { exitCode, stdout } = await run(args);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^trial +end +accuracy \(epochs\) +time +settings$/m);
    expect(stdout).toMatch(/^0( \*)? +finished +[01]\.\d{4} \(1\) +\d+ s +defaults$/m);
    expect(stdout).toMatch(/^1( \*)? +finished +[01]\.\d{4} \(1\) +\d+ s +learningRate 0\.001$/m);
    expect(stdout).toMatch(/^2 trials in \d+ s; stopped because the number of trials was reached$/m);
    expect(readdirSync(output)).toContain('config.json');

    const input = ['the lamp', '', 'my order broke at once', 'the lamp', 'it is great'].join('\n');
    const suggested = await run(['suggest', output, '--count', '2', '--json'], { input });
    expect(suggested.exitCode).toBe(0);
    const texts: { line: number; text: string; uncertainty: number }[] = suggested.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(texts).toHaveLength(2);
    for (const { line, text } of texts) expect(input.split('\n')[line - 1]).toBe(text);
    const plain = await run(['suggest', output, '--count', '2'], { input });
    expect(plain.stdout).toBe(
      texts.map(({ uncertainty, line, text }) => `${uncertainty.toFixed(4)}\t${line}\t${text}\n`).join(''),
    );
  });

  it('says what is wrong with a space', async () => {
    const space = join(folder, 'wrong.json');
    writeFileSync(space, '{"learningRte": [0.001]}');
    expect(await run(['tune', data, '--space', space])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/learningRte/),
    });
    expect(await run(['tune', data, '--space', join(folder, 'none.json')])).toMatchObject({ exitCode: 1 });
  });
});

describe('orchard cross-validate', () => {
  it('prints figures over rows and folds, and writes the answers', async () => {
    const answers = join(folder, 'answers.jsonl');
    const args = ['cross-validate', data, ...quick, '--folds', '2', '--group-column', 'author', '--answers', answers];
    const { exitCode, stdout } = await run(args);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^binary-text-classification \(each row has one of 2 labels\); 2 training runs in \d+ s$/m);
    expect(stdout).toMatch(/^80 rows$/m);
    expect(stdout).toMatch(/^accuracy +[01]\.\d{4} ± 0\.\d{4} +[01]\.\d{4} to [01]\.\d{4}$/m);
    const written: { row: number; fold: number }[] = readFileSync(answers, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(written.map(({ row }) => row)).toEqual([...rows.keys()]);
    for (const { row, fold } of written) expect(fold).toBe(written[row % 7]?.fold);
  });
});
