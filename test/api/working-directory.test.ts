import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { embed, exportModel, fileStorage, loadModel, openSearch, train } from 'orchard-nlp';
import { expect, it } from 'vitest';
import { rows } from '../public/sentiments.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** An application that changes its working directory right after a call. */

const PROGRAM = `
  const { checkData, crossValidate, embed, exportModel, fileStorage, loadModel, openSearch, search, train } = await import(${JSON.stringify(
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
  await called(() => exportModel('./made', 'exported'));
  await called(() => embed(['a text'], { model: 'made' }));
  await (await called(() => train({ path: 'rows.csv', base: 'made', output: 'next', ...quick, pretrained: true }))).close();
  const index = await called(() => search(['one text', 'another text'], { model: './made' }));
  await called(() => index.save('index'));
  await (await called(() => openSearch('./index'))).close();
  process.chdir(home);
  const storage = fileStorage('store');
  process.chdir(other);
  await storage.write('a', 'b', 1);
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
  expect(existsSync(join(home, 'store'))).toBe(true);
  expect(readdirSync(other)).toEqual([]);
});

it('a path may be a file: URL', async () => {
  const folder = pathToFileURL(temporaryDirectory()).href;
  const model = (
    await train({ rows, epochs: 1, pretrained: false, threads: 1, output: `${folder}/a` })
  )._unsafeUnwrap();
  (await model.save(`${folder}/b`))._unsafeUnwrap();
  await model.close();
  const saved = (await loadModel(`${folder}/b`))._unsafeUnwrap();
  expect((await saved.predict('it is great')).isOk()).toBe(true);
  await saved.close();
  (await exportModel(`${folder}/b`, `${folder}/c`))._unsafeUnwrap();
  expect(readdirSync(fileURLToPath(folder)).sort()).toEqual(['a', 'b', 'c']);
});

it('a path that begins with ~ is refused with what to give', async () => {
  const refused = [
    await loadModel('~/model'),
    await train({ rows, output: '~/model' }),
    await train({ path: '~/rows.csv' }),
    await exportModel('~/model', temporaryDirectory()),
    await openSearch('~/index'),
    await embed(['a'], { model: '~/model' }),
  ];
  for (const result of refused) expect(result.isErr() && result.error.message).toContain('only a shell expands ~');
  expect(() => fileStorage('~/store')).toThrow('only a shell expands ~');
  expect(existsSync('~')).toBe(false);
});
