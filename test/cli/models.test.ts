import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { run } from './run-command.js';

/** `orchard models`: names the models that may not be used commercially, for people and for scripts. */

const models = fileURLToPath(new URL('../../models', import.meta.url));
const BOUND = 'news-classification';
const FREE = 'financial-customer-support';
const licence = {
  commercial_use: false,
  reasons: [expect.stringContaining('AG News')],
  alternative: expect.stringContaining('no free model of news'),
};

const linesOf = (stdout: string) => stdout.trimEnd().split('\n');

describe('orchard models', () => {
  it('marks models that are not for commercial use, and says why and what to use instead', async () => {
    const { stdout, exitCode } = await run(['models']);
    expect(exitCode).toBe(0);
    const rowOf = (name: string) => linesOf(stdout).find((line) => line.startsWith(`${name}  `)) ?? '';
    expect(rowOf(BOUND)).toContain('not for commercial use');
    expect(rowOf(FREE)).not.toContain('commercial');
    expect(rowOf(FREE)).toContain('any use');
    expect(stdout).toMatch(/^news-classification: not for .*AG News.*: given for non-commercial use\. Instead: /m);
    expect(stdout).not.toMatch(/^financial-customer-support: /m);
  });

  it('lists models for any use first, and names no option of its own that it does not have', async () => {
    const { stdout } = await run(['models']);
    const [table = '', restrictions = ''] = stdout.split(/\n\n(.*)/s);
    const terms = linesOf(table)
      .filter((line) => line.includes('pretrained model'))
      .map((line) => line.includes('not for commercial use'));
    expect(terms).toEqual(terms.toSorted());
    expect(new Set(terms).size).toBe(2);
    for (const [advice] of restrictions.matchAll(/`[^`]*--free[^`]*`/g)) {
      expect(advice).toMatch(
        /^`npx tsx models\/recipes\/catalogue\/main\.ts train [a-z-]+ --free( --untaught)? --datasets <folder> --work <folder>`$/,
      );
    }
    expect(restrictions).toContain('--free');
  });

  it('tells the same with --json, in the list and with a card', async () => {
    const { stdout } = await run(['models', 'list', '--json']);
    const listed = linesOf(stdout).map((line) => JSON.parse(line));
    expect(listed.find(({ name }) => name === BOUND)).toMatchObject({ licence });
    expect(listed.find(({ name }) => name === FREE)).not.toHaveProperty('licence');
    const card = await run(['models', 'card', BOUND, '--json']);
    expect(JSON.parse(card.stdout)).toMatchObject({ name: BOUND, licence });
  });

  it('has it in the card, and on standard error of a pull', async () => {
    const card = await run(['models', 'card', BOUND]);
    expect(card.stdout).toContain('**Not for commercial use**');
    const directory = join(temporaryDirectory(), 'pulled');
    const pulled = await run(['models', 'pull', BOUND, '--from', models, '--directory', directory]);
    expect(linesOf(pulled.stdout)).toHaveLength(1);
    expect(pulled.stderr).toMatch(/^news-classification: not for commercial use/m);
  });
});
