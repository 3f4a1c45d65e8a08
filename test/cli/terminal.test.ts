import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { fileStorage } from '../../src/storage/index.js';
import { aReadyModelIn } from '../support/ready-model.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { run } from './run-command.js';

/** A person at a terminal: signals while texts are awaited, confirmations, and texts with control characters. */

const model = 'sentiment-classification';

describe('the first signal while texts are awaited', () => {
  const small = () => ['--output', join(temporaryDirectory(), 'small')];

  it.each<[string, () => string[]]>([
    ['search', () => ['search', '-', 'a question']],
    ['suggest', () => ['suggest', model]],
    ['suggest with an input', () => ['suggest', model, '--input', '-', '--input-format', 'jsonl']],
    ['distill', () => ['distill', '-', '--teacher', model, ...small()]],
  ])('ends orchard %s with the exit code 130', async (_, args) => {
    let isFirst = true;
    const input = new Readable({
      read() {
        if (isFirst) this.push('"a text"\n');
        // SIGHUP stops a command, too, and nothing else in this process listens to it.
        else setImmediate(() => process.emit('SIGHUP'));
        isFirst = false;
      },
    });
    const { exitCode, stdout, stderr } = await run([...args(), '--json'], { input });
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '' });
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'aborted' } });
    expect(input.destroyed).toBe(true);
  });
});

describe('a confirmation', () => {
  async function erase(input: string, ...more: string[]) {
    const data = temporaryDirectory();
    const id = '0190a6f0-0000-7000-8000-00000000000a';
    await aReadyModelIn(fileStorage(data), 'acme', { id, folder: temporaryDirectory() });
    return run(['erase', 'acme', '--data', data, ...more], { input, terminals: ['stdin', 'stderr'] });
  }

  it.each([
    ['Ctrl+C', '\u0003'],
    ['Ctrl+D', '\u0004'],
    ['the end of the input', ''],
  ])('ends with the exit code 130 after %s', async (_, typed) => {
    const { exitCode, stdout, stderr } = await erase(typed);
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '' });
    expect(stderr).toMatch(/Type acme to continue: .*\r?\nthe confirmation was aborted\n$/s);
    expect((await erase(typed, '--json')).stderr).toContain('{"error":{"code":"aborted"');
  });

  it('lets the command go on, or refuses another answer', async () => {
    expect(await erase('acme\n')).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^acme: erased 1 job/) });
    expect(await erase('other\n')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('does not match') });
  });
});

describe('control characters', () => {
  const text = 'It \u001B]0;title\u0007works\u009B2J, \u001B[8mreally\rwell.';

  it('of a text are not printed on a terminal, and stay as they are in a pipe', async () => {
    const shown = await run(['predict', model, text], { terminals: ['stdout'] });
    expect(shown.stdout).toMatch(/^positive\t0\.\d{4}\tIt �\]0;title�works�2J, �\[8mreally well\.\n$/);
    const piped = await run(['predict', model, text]);
    expect(piped.stdout).toContain(text.replace('\r', ' '));
  });

  it('of a file name, a message or an argument are not printed on a terminal', async () => {
    const rules = join(temporaryDirectory(), 'rules\u001B[2J.json');
    writeFileSync(rules, JSON.stringify([{ type: 'X', pattern: '(\u001B[2J' }]));
    const refused = ['predict', 'named-entity-recognition', '--rules', rules, 'a text'];
    for (const args of [refused, [...refused, '--rules', `${rules}x`], ['pre\u001B[2Jdict']]) {
      const shown = await run(args, { terminals: ['stderr'] });
      expect(shown.stderr).toContain('�[2J');
      expect(shown.stderr).not.toContain('\u001B');
      expect((await run(args)).stderr).toContain('\u001B[2J');
    }
  });

  it('that colour the words of an explanation are printed', async () => {
    const { stdout } = await run(['explain', model, `Works \u001B[5mperfectly!`], { terminals: ['stdout'] });
    for (const code of ['\u001B[32m', '\u001B[39m']) expect(stdout).toContain(code);
    expect(stdout).not.toContain('\u001B[5m');
  });
});
