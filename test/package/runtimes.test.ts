import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findRuntime } from '../../bench/runtimes.js';
import { install, root } from './install.js';

/** The built package in Bun and Deno, which run TypeScript as it is: programs of examples/, and the command. */

let application: string;
beforeAll(async () => {
  application = await mkdtemp(join(tmpdir(), 'orchard-runtimes-'));
  await writeFile(join(application, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(join(application, 'reviews.txt'), 'Works perfectly\nBroke at once\n');
  await install(application);
  await symlink(join(root, 'models'), join(application, 'node_modules', 'orchard-nlp-models'), 'junction');
}, 60_000);
afterAll(() => rm(application, { recursive: true }));

/** What each prints. */
const programs: readonly (readonly [string, RegExp])[] = [
  ['first-answer.ts', /^card_arrival [01]\.\d\d\n$/],
  ['load-model.ts', /^PER "Ada Lovelace" at 0\n[\s\S]*^LOC "Vienna" at 15\n/m],
  ['medley.ts', /^financial-customer-support: transaction_charged_twice 0\.\d\d\nemotion-detection: \w+ 0\.\d\d\n$/m],
  ['explain.ts', /^admiration 0\.\d\d\n( +-?\d\.\d\d \w+ at \d+\n){3}/],
  ['search-passages.ts', /^0\.\d\d The library opens at nine.*\nnothing about "Who won/],
  ['opentelemetry.ts', /orchard\.predict[\s\S]*texts: 1/],
  ['http-server.ts', /^200 \{"data":\[\]/],
  ['train-rows.ts', /^(posi|nega)tive 0\.\d\d\n$/],
  ['entities.ts', /^LOC "Vienna" at 22, [01]\.\d+\n/m],
];

describe.runIf(process.platform === 'linux').each(['bun', 'deno'])('%s', (wanted) => {
  const found = findRuntime(wanted);
  if (typeof found === 'string') {
    it.skip(`runs the examples (skipped: ${found})`, () => undefined);
    return;
  }
  const [program = '', ...args] = found.command;
  // A program that leaves a thread behind or throws in one does not end with exit code 0.
  const run = (...words: readonly string[]) =>
    promisify(execFile)(program, [...args, ...words], {
      cwd: application,
      timeout: 100_000,
      env: { ...process.env, DENO_DIR: join(application, 'deno'), DENO_NO_UPDATE_CHECK: '1' },
    });

  it.each(programs)(`runs %s in ${found.name}`, async (name, printed) => {
    writeFileSync(join(application, name), readFileSync(join(root, 'examples', name)));
    const archive = pathToFileURL(join(root, 'examples', 'news-entities')).href;
    const { stdout, stderr } = await run(name, archive);
    expect(stdout).toMatch(printed);
    expect(stderr).toBe('');
  });

  it('labels the lines of a file as a stream', async () => {
    await writeFile(join(application, 'stream.ts'), readFileSync(join(root, 'examples', 'stream.ts')));
    const target = join(application, `${wanted}.tsv`);
    await run('stream.ts', 'reviews.txt', target);
    expect(await readFile(target, 'utf8')).toMatch(/^approval\t0\.\d{3}\nneutral\t0\.\d{3}\n$/);
  });

  it('trains in a child process', async () => {
    const rows = ['Works perfectly', 'Great sound', 'Broke at once', 'Awful sound'];
    const code = `
      import { train } from 'orchard-nlp';
      const rows = ${JSON.stringify(rows)}.map((text, at) => ({ text, label: at < 2 ? 'good' : 'bad' }));
      const trained = await train({ rows, epochs: 1, isolation: 'process' });
      if (trained.isErr()) throw trained.error;
      console.log((await trained.value.predict('Great')).map(({ scores }) => scores.length)._unsafeUnwrap());
      await trained.value.close();`;
    await writeFile(join(application, 'train-in-process.ts'), code);
    expect((await run('train-in-process.ts')).stdout).toBe('2\n');
  });

  it('runs the command', async () => {
    const command = join('node_modules', 'orchard-nlp', 'dist', 'orchard.js');
    const { stdout } = await run(command, 'predict', 'sentiment-classification', 'It works perfectly.');
    expect(stdout).toMatch(/^positive\t0\.\d+\tIt works perfectly\.\n$/);
  });
});
