import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** The library within an application's own tests: in a realm of its own, and with faked timers. */

const root = fileURLToPath(new URL('../..', import.meta.url));

const TESTS = `
  import { embed, fileStorage, loadModel, search, train, Trainer } from 'orchard-nlp';
  import { beforeAll, expect, it, vi } from 'vitest';

  beforeAll(() => void (process.env.FAKE_TIMERS && vi.useFakeTimers()));
  const valueOf = async (result) => (await result)._unsafeUnwrap();
  const rows = Array.from({ length: 20 }, (_, at) => ({ text: \`thing \${at} is \${at % 2 ? 'good' : 'bad'}\`, label: at % 2 ? 'p' : 'n' }));

  it('asks a model', async () => {
    const model = await valueOf(loadModel('sentiment-classification'));
    expect((await valueOf(model.predict('good'))).label).toBeDefined();
    await model.close();
  });
  it('embeds and searches', async () => {
    expect(await valueOf(embed(['a', 'b c']))).toHaveLength(2);
    const index = await valueOf(search(['one two', 'three four']));
    expect(await valueOf(index.search('two'))).toHaveLength(2);
    await index.close();
  });
  it('trains to a folder', async () => {
    const model = await valueOf(train({ rows, epochs: 1, pretrained: false, output: './made' }));
    await model.close();
  });
  it('says what is missing', async () => {
    expect((await train({ path: './nothing.csv' }))._unsafeUnwrapErr().code).toBe('dataset');
  });
  it('keeps jobs in files', async () => {
    const trainer = new Trainer({ storage: fileStorage('./store') });
    expect((await trainer.listModels()).isOk()).toBe(true);
    await trainer.close();
  });
`;

it.each([
  ['threads', 'real'],
  ['threads', 'fake'],
  ['vmThreads', 'real'],
  ['vmThreads', 'fake'],
])(
  'works in tests that run in %s with %s timers',
  async (pool, timers) => {
    const folder = temporaryDirectory();
    mkdirSync(join(folder, 'node_modules'));
    for (const name of ['vitest', 'neverthrow']) {
      symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
    }
    symlinkSync(root, join(folder, 'node_modules', 'orchard-nlp'));
    writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }');
    writeFileSync(join(folder, 'library.test.js'), TESTS);
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    const { VITEST: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [vitest, 'run', '--pool', pool, '--testTimeout', '60000', '--reporter', 'json'],
      { cwd: folder, env: { ...env, ...(timers === 'fake' && { FAKE_TIMERS: '1' }) } },
    ).catch((failed: { readonly stdout: string }) => failed);
    const { numPassedTests, numFailedTests } = JSON.parse(stdout.slice(stdout.indexOf('{"num')));
    expect({ numPassedTests, numFailedTests }, stdout).toEqual({ numPassedTests: 5, numFailedTests: 0 });
  },
  180_000,
);

it('is written without tests that only hold in one realm', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.startsWith(join('http', 'page')) && name !== join('contract', 'errors.ts'),
  );
  const bound =
    /instanceof (?:Error|AbortSignal|Uint8Array|ArrayBuffer|Date|Map|Set|Promise)\b|z\.instanceof\(AbortSignal/;
  const disposing = /^\s*(?:await )?using \w+ =/m; // another realm may have no symbol for it
  const timers = /(?<![\w.'])(?:setTimeout|setImmediate|setInterval)\(/;
  const isBound = (name: string) => {
    const source = readFileSync(join(root, 'src', name), 'utf8');
    const isCommand = name.startsWith('cli');
    return (
      bound.test(source) ||
      (disposing.test(source) && !isCommand) ||
      (timers.test(source) && !source.includes("from 'node:timers"))
    );
  };
  expect(files.filter(isBound)).toEqual([]);
});
