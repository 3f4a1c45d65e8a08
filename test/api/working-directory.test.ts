import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { rows } from '../public/sentiments.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** An application that changes its working directory right after a call. */

const PROGRAM = `
  const { checkData, crossValidate, loadModel, train } = await import(${JSON.stringify(
    new URL('../../dist/index.js', import.meta.url).href,
  )});
  const [home, other] = process.argv.slice(1);
  const called = async (call) => {
    process.chdir(home);
    const result = call();
    process.chdir(other);
    const settled = await result;
    if (settled.isErr()) throw settled.error;
    return settled.value;
  };
  const quick = { epochs: 1, pretrained: false, threads: 1 };
  await (await called(() => train({ path: 'rows.csv', dev: './rows.csv', test: 'rows.csv', output: './made', ...quick }))).close();
  const model = await called(() => loadModel('./made'));
  await called(() => model.evaluate('rows.csv'));
  await called(() => model.save('copy'));
  await called(() => checkData({ path: 'rows.csv' }));
  await called(() => crossValidate({ path: 'rows.csv', folds: 2, ...quick }));
  process.exit();`;

it('paths are those of the call', () => {
  const folder = temporaryDirectory();
  const [home, other] = [join(folder, 'home'), join(folder, 'other')];
  for (const each of [home, other]) mkdirSync(each);
  writeFileSync(
    join(home, 'rows.csv'),
    `text,label\n${rows.map(({ text, label }) => `${text},${label}`).join('\n')}\n`,
  );
  execFileSync(process.execPath, ['--input-type=module', '--eval', PROGRAM, home, other]);
  expect(existsSync(join(home, 'made', 'config.json'))).toBe(true);
  expect(existsSync(join(home, 'copy', 'config.json'))).toBe(true);
  expect(existsSync(join(other, 'made'))).toBe(false);
});
