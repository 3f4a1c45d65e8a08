import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Command } from '../../src/cli/command.js';
import { commands } from '../../src/cli/commands.js';
import { type Call, programOf } from '../../src/cli/orchard.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { command } from './run-command.js';

/** docs/cli.md and docs/cli-more.md: their lines are ones that the command takes, and the session runs. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = ['cli.md', 'cli-more.md'].map((name) => readFileSync(join(root, 'docs', name), 'utf8')).join('');
const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block.trimEnd().split('\n'));
const [session = []] = blocks;

/** The words after `orchard`, as a shell would split them. */
function wordsOf(line: string): readonly string[] {
  const [, call = ''] = /(?:^|\| )orchard (.*?)(?: [|<>].*)?$/.exec(line) ?? [];
  return [...call.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

/** What the parser makes of a command line. @throws CommanderError where it refuses it */
function parsed(words: readonly string[]): Call | undefined {
  let call: Call | undefined;
  const terminal = {
    stdin: Readable.from([]),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    env: {},
  };
  programOf(commands, '0', terminal, (made) => {
    call = made;
  }).parse(words, { from: 'user' });
  return call;
}

const runnable = (from: readonly Command[], parent = 'orchard'): string[] =>
  from.flatMap((each) => {
    const path = `${parent} ${each.name}`;
    return each.run ? [path] : runnable(each.commands ?? [], path);
  });

describe('docs/cli.md and docs/cli-more.md', () => {
  it.each(blocks.flat().filter((line) => line.includes('orchard ')))('%s', (line) => {
    expect(parsed(wordsOf(line))).toBeDefined();
  });

  it('has a line of every command', () => {
    const shown = blocks.flat().map((line) => parsed(wordsOf(line))?.path);
    expect([...new Set(shown)].sort()).toEqual(runnable(commands).sort());
  });

  it('has a session that runs as it stands', async () => {
    const folder = temporaryDirectory();
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'orchard'), `#!/bin/sh\nexec "${process.execPath}" "${command}" "$@"\n`, {
      mode: 0o755,
    });
    const rows = Array.from(
      { length: 40 },
      (_, row) => `"Lamp ${row}: it ${row % 2 ? 'works' : 'broke'}, really",${row % 2 ? 'good' : 'bad'}`,
    );
    writeFileSync(join(folder, 'reviews.csv'), `text,label\n${rows.join('\n')}\n`);
    writeFileSync(join(folder, 'texts.txt'), 'It works.\nIt broke.\n');
    writeFileSync(
      join(folder, 'passages.txt'),
      'The library closes at eight in the evening.\nA card costs ten euros a year.\nDogs wait outside.\n',
    );
    const script = ['set -euo pipefail', ...session].join('\n');
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder, env });
    expect(stdout).toMatch(/^(good|bad)\t0\.\d{4}\tIt works perfectly\.$/m);
    expect(stdout).toMatch(/\[Vienna LOC\]/);
    expect(stdout).toMatch(/^0\.\d{4}\tThe library closes at eight/m);
    expect(readFileSync(join(folder, 'answers.tsv'), 'utf8').trimEnd().split('\n')).toHaveLength(2);
    expect(JSON.parse(readFileSync(join(folder, 'figures.json'), 'utf8'))).toMatchObject({
      kind: 'labels',
      rows: 40,
    });
  }, 300_000);
});
