import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rows } from '../public/sentiments.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { run } from './run-command.js';

/** `orchard distill`: a model or a program teaches. */

const quick = ['--language', 'german', '--epochs', '1', '--threads', '1'];

/** A folder with the texts, and a program that answers them; it begins with `first`. */
function aFolder(first = '') {
  const folder = temporaryDirectory();
  const place = (name: string) => join(folder, name);
  writeFileSync(place('texts.txt'), rows.map(({ text }) => text).join('\n'));
  writeFileSync(place('rows.csv'), ['text,label', ...rows.map(({ text, label }) => `${text},${label}`)].join('\n'));
  writeFileSync(
    place('test.csv'),
    ['text,label', ...rows.map(({ text, label }) => `${text} today,${label}`)].join('\n'),
  );
  writeFileSync(
    place('ask.mjs'),
    `import { createInterface } from 'node:readline';
import { appendFileSync } from 'node:fs';
${first}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, text } = JSON.parse(line);
  appendFileSync(${JSON.stringify(place('asked.txt'))}, text + '\\n');
  const isGood = /perfectly|great|lovely|joy|happy/.test(text);
  // U+2028 ends no line.
  console.log(JSON.stringify({ id, note: '\\u2028', answer: { positive: isGood ? 0.9 : 0.2, negative: isGood ? 0.1 : 0.8 } }));
}`,
  );
  const command = `${JSON.stringify(process.execPath)} ${JSON.stringify(place('ask.mjs'))}`;
  const asked = () => readFileSync(place('asked.txt'), 'utf8').trim().split('\n');
  const args = ['distill', place('texts.txt'), '--output', place('small'), ...quick];
  return { place, args, asked, program: ['--teacher-command', command, '--labels', 'negative,positive'] };
}

describe('orchard distill', () => {
  it('learns from a program, which is asked once for each text, and keeps its answers', async () => {
    const { args, program, asked, place } = aFolder();
    const first = await run([...args, ...program]);
    expect(first).toMatchObject({ exitCode: 0 });
    expect(first.stdout).toMatch(/^taught by .*ask\.mjs.*: 80 answers, in .*small\.answers\.jsonl$/m);
    expect(first.stdout).toMatch(/^agrees with its teacher on .* of 8 other texts$/m);
    const again = await run([...args, ...program, '--json']);
    expect(JSON.parse(again.stdout).distillation).toMatchObject({ answered: 80, kept: 80, agreement: { of: 8 } });
    expect(asked()).toHaveLength(80);
    const answered = await run(['predict', place('small'), 'this lamp is great']);
    expect(answered.stdout).toMatch(/^positive\t/);
  });

  it('learns from a model, and compares both on rows', async () => {
    const { args, place } = aFolder();
    await run(['train', place('rows.csv'), '--output', place('large'), ...quick]);
    const taught = await run([
      ...args,
      '--teacher',
      place('large'),
      '--test',
      place('test.csv'),
      '--dev',
      place('test.csv'),
      '--max-texts',
      '90',
      '--json',
    ]);
    expect(taught).toMatchObject({ exitCode: 0, stderr: '' });
    const { distillation, labels, dev } = JSON.parse(taught.stdout);
    expect(labels).toEqual(['negative', 'positive']);
    expect(dev).toBe(rows.length);
    // Half of the budget is for figures at most.
    expect(distillation).toMatchObject({ answered: 90, accuracy: { rows: 45 } });
  });

  it('shows why a program ended, and how to go on', async () => {
    const { args, program } = aFolder(`console.error('the key has expired'); process.exit(3);`);
    const failed = await run([...args, ...program, '--attempts', '1']);
    expect(failed.exitCode).toBe(1);
    expect(failed.stderr).toMatch(
      /the teacher failed 1 time on .* ended with exit code 3 before it answered\nthe key has expired; 0 answers are kept/,
    );
  });

  it('shows a line of a program that is no answer', async () => {
    const { args, program } = aFolder(`console.log('loading the model');`);
    const failed = await run([...args, ...program, '--attempts', '1']);
    expect(failed.stderr).toContain('wrote "loading the model"; expected {"id": …, "answer": …}');
  });

  it.each([
    [
      ['--choose', 'central', '--labels', 'a,b'],
      /^--choose: without --max-texts, .*; give --max-texts too, or leave --choose out$/m,
    ],
    [[], /^--type: the answers do not show the type of the model; give --type, --labels, --rows or --passages$/m],
  ])('names flags in what it says of %j', async (more, message) => {
    const { args } = aFolder();
    const refused = await run([...args, '--teacher-command', 'false', ...more]);
    expect({ exitCode: refused.exitCode, stderr: refused.stderr }).toEqual({
      exitCode: 1,
      stderr: expect.stringMatching(message),
    });
  });

  it.each([
    [[], 'give --teacher or --teacher-command\n'],
    [['--teacher', 'a', '--teacher-command', 'b'], 'give --teacher or --teacher-command, not both'],
    [['--teacher', 'a', '--text2-column', ''], '--text2-column: the value is empty'],
  ])('refuses %j', async (more, message) => {
    const { args } = aFolder();
    const refused = await run([...args, ...more]);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain(message);
  });
});
