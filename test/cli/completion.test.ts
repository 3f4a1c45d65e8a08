import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { run } from './run-command.js';

/** The scripts for shells, in those that are installed. */

function isInstalled(shell: string): boolean {
  try {
    execFileSync(shell, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function scriptFor(shell: string): Promise<string> {
  const { stdout } = await run(['completion', shell]);
  const file = join(temporaryDirectory(), `orchard.${shell}`);
  writeFileSync(file, stdout);
  return file;
}

describe.runIf(isInstalled('bash'))('in bash', () => {
  /** What bash offers at the end of these words. */
  async function offered(...words: string[]): Promise<string[]> {
    const file = await scriptFor('bash');
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _orchard; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash', file, 'orchard', ...words]);
    return stdout.split('\n').filter((line) => line !== '');
  }

  it.each([
    [['tr'], ['train']],
    [['train', '--ep'], ['--epochs']],
    [['train', '--text2'], ['--text2-column']],
    [
      ['train', 'x.csv', '--type', 'multi'],
      ['multiclass-text-classification', 'multilabel-text-classification'],
    ],
    [['predict', 'toxic'], ['toxicity-detection']],
    [['models', 'p'], ['pull']],
    [['models', 'pull', '--fr'], ['--from']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['train', 'x.csv', '--output', 'any'], []], // files, by bash itself
  ])('%j is completed', async (words, expected) => {
    expect(await offered(...words)).toEqual(expected);
  });
});

it.each(['bash', 'zsh', 'fish'])(
  'the script for %s is one that it can read, and names every command',
  async (shell) => {
    const { stdout, exitCode } = await run(['completion', shell]);
    expect(exitCode).toBe(0);
    for (const name of ['train', 'predict', 'pull', '--label-column'])
      expect(stdout).toContain(name.replace(/^--/, ''));
    if (!isInstalled(shell)) return;
    const home = join(temporaryDirectory(), 'home');
    mkdirSync(home);
    await promisify(execFile)(shell, ['-n', await scriptFor(shell)], { env: { ...process.env, HOME: home } });
  },
);
