import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { Command } from '../../src/cli/command.js';
import { commands } from '../../src/cli/commands.js';
import { orchard } from '../../src/cli/index.js';
import { command, run, start } from './run-command.js';

/** What holds for every command: help, exit codes, JSON, streams that end early, and what is loaded. */

function paths(from: readonly Command[], above: readonly string[] = []): (readonly string[])[] {
  return from.flatMap(({ name, commands: below = [] }) => [[...above, name], ...paths(below, [...above, name])]);
}

describe('orchard --help', () => {
  it('goes to standard output with every command, and is no failure', async () => {
    const { exitCode, stdout, stderr } = await run(['--help']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
  });

  it.each(paths(commands))('exists for %s %s', async (...path) => {
    const { exitCode, stdout, stderr } = await run([...path, '--help']);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: orchard ${path.join(' ')}`));
    expect(await run(['help', ...path])).toMatchObject(path.length === 1 ? { stdout } : {});
  });
});

it('wraps help to the width of the terminal, but not its examples', async () => {
  const { stdout } = await run(['train', '--help'], { columns: 70 });
  const lines = stdout.split('\n');
  expect(lines.filter((line) => line.length > 70 && !line.startsWith('  orchard '))).toEqual([]);
  expect(lines).toContain('  orchard train reviews.csv');
});

describe('orchard --version', () => {
  it('goes to standard output', async () => {
    const { version } = JSON.parse(readFileSync(join(dirname(command), '..', 'package.json'), 'utf8'));
    expect(await run(['--version'])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('loads nothing that works: no schemas, no runtime', () => {
    const loaded = [...staticallyLoaded(command)];
    expect(loaded.filter((name) => !name.startsWith('node:') && !name.startsWith('./'))).toEqual([]);
    const code = loaded
      .filter((name) => name.startsWith('./'))
      .map((name) => readFileSync(join(dirname(command), name), 'utf8'));
    expect(code.join('\n')).not.toContain('node_modules/zod/');
  });
});

/** The modules that a file of dist/ imports before it runs, and what those import. */
function staticallyLoaded(file: string, found = new Set<string>()): Set<string> {
  // The bundler puts imports first, then a comment with the name of each source.
  const [head = ''] = readFileSync(file, 'utf8').split('\n// ');
  const imports = head.matchAll(/^(?:import|export)\b[^;]*?["']([^"']+)["'];/gm);
  for (const [, name = ''] of imports) {
    if (found.has(name)) continue;
    found.add(name);
    if (name.startsWith('./')) staticallyLoaded(join(dirname(file), name), found);
  }
  return found;
}

describe('a usage error', () => {
  it.each([
    [[], /^Usage: orchard/],
    [['trian', 'x.csv'], /unknown command 'trian'\n\(Did you mean train\?\)\n\(see orchard --help\)\n$/],
    [['train'], /nothing to train on; give .* or --labels\n\(see orchard train --help\)/],
    [['train', 'a', 'b'], /too many arguments/],
    [['train', 'a.csv', '--epoch', '3'], /unknown option '--epoch'\n\(Did you mean --epochs\?\)/],
    [['train', 'a.csv', '--epochs', 'three'], /^orchard train: --epochs: give a whole number/],
    [['train', 'a.csv', '--epochs', '0'], /^orchard train: --epochs: give a whole number of at least 1\n/],
    [['train', 'a.csv', '--dev-fraction', '1'], /--dev-fraction: give a number above 0 and below 1/],
    [['train', 'a.csv', '--name', 'My Model'], /--name: give 1 to 24 characters of a–z, 0–9 and -/],
    [['train', 'a.csv', '--epochs', '0', '--seed', 'x'], /--epochs: .*; --seed: give a whole number\n/],
    [['tune', 'a.csv', '--minutes', '0'], /^orchard tune: --minutes: give a number above 0, and at most 33333\n/],
    [['search', '.', 'a question', '--input-format', 'csv'], /--input-format: can't be changed for a saved index/],
    [['search', '-'], /^orchard search: the passages come from standard input; give the questions as arguments\n/],
    [
      ['search', 'p.txt', '--save', 'i', '--top', '2'],
      /^orchard search: --top: with --save, only questions on the command/,
    ],
    [
      ['search', 'p.txt', 'a question', '--text-column', 'a'],
      /^orchard search: --text-column: the texts are in no columns/,
    ],
    [['predict', 'm', '--text-column', 'a'], /^orchard predict: --text-column: the texts are in no columns/],
    [['embed', 'a text', '--text-column', 'a'], /^orchard embed: --text-column: the texts are in no columns/],
    [
      ['embed', 'a text', '--input-format', 'csv'],
      /^orchard embed: --input-format: texts of the command line have none/,
    ],
    [
      ['suggest', 'm', '-i', 'a.csv', '--input-format', 'text', '--text-column', 'a'],
      /--text-column: the texts are in no/,
    ],
    [['drift', 'm', '-', '--usual', 'a.txt', '--text-column', 'a'], /--text-column: the texts are in no columns/],
    [['erase', 'é', '--yes'], /app_id: give 1 to 50 printable ASCII characters/],
    [['train', 'a.csv', '--type', 'poem'], /Allowed choices are binary-text-classification/],
    [['predict'], /missing required argument 'model'/],
    [['predict', 'm', 'a text', '--input', 'x'], /^orchard predict: give texts or --input, not both/],
    [['predict', 'm', '--format', 'xml'], /Allowed choices are text, jsonl, csv/],
    [['evaluate', 'm'], /missing required argument 'rows'/],
    [['archive', 'x.csv'], /^orchard archive: --type: /],
    [['models', 'push'], /unknown command 'push'|too many arguments/],
    [['completion', 'tcsh'], /Allowed choices are bash, zsh, fish/],
    [['new-key', '--app-id', 'a'], /^orchard new-key: --keys: missing/],
  ])('%j says what is wrong, with the exit code 2', async (args, message) => {
    const { exitCode, stdout, stderr } = await run(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it.each([[['train', '--json']], [['serve', '--json', '--port', 'x']]])('%j says so in JSON', async (args) => {
    const { exitCode, stderr } = await run(args);
    expect(exitCode).toBe(2);
    const told = stderr.split('\n').find((line) => line.startsWith('{')) ?? '';
    expect(JSON.parse(told)).toEqual({ error: { code: 'usage', message: expect.any(String) } });
  });
});

describe('a command that fails', () => {
  it('says why on standard error, with the exit code 1', async () => {
    const { exitCode, stdout, stderr } = await run(['predict', 'no-such-model', 'a text']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/no-such-model/);
  });

  it('lists the models once for an unknown one', async () => {
    const { stderr } = await run(['predict', 'no-such-model', 'a text']);
    expect(stderr.match(/toxicity-detection/g)).toHaveLength(1);
  });

  it.each([
    [['search', '/no/such/file', 'a question'], /\/no\/such\/file: no such file or folder\n/],
    [['search', '.', 'a question'], /search\.json: it can't be read; give the folder of a saved index\n/],
    [['tune', 'a.csv', '--space', '/no/such/file'], /\/no\/such\/file: no such file or folder\n/],
    [['serve', '--keys', '/no/such/file'], /\/no\/such\/file: no such file or folder\n/],
  ])('%j says in plain words that a file is missing', async (args, message) => {
    expect(await run(args)).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(message) });
  });

  it('says so in JSON if it is asked to', async () => {
    const { exitCode, stderr } = await run(['predict', 'no-such-model', 'a text', '--json']);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'not_found' } });
  });

  it('can not write its results, which is no success', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done(full) });
    const stderr = new PassThrough();
    const exitCode = await orchard(['models', '--json'], { stdin: Readable.from([]), stdout, stderr, env: {} });
    stderr.end();
    expect({ exitCode, stderr: await text(stderr) }).toEqual({
      exitCode: 1,
      stderr: 'standard output: ENOSPC: no space left on device, write\n',
    });
  });

  it('ends its process with that code', async () => {
    const { ended, stderr } = start(['export', 'no-such-model', '/nowhere']);
    expect(await ended).toEqual({ exitCode: 1, signal: null });
    expect(await stderr).toMatch(/no-such-model/);
  });
});
