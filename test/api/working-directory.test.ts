import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  createClassificationArchive,
  embed,
  exportModel,
  fileStorage,
  hubModels,
  loadModel,
  openSearch,
  pullModel,
  search,
  train,
} from 'orchard-nlp';
import { expect, it } from 'vitest';
import { rows } from '../public/sentiments.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** An application that changes its working directory right after a call. */

const PROGRAM = `
  const { checkData, createClassificationArchive, crossValidate, embed, exportModel, fileStorage, listModels, loadModel, openSearch, pullModel, search, train } = await import(${JSON.stringify(
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
  await called(() => checkData({ path: 'rows.csv', model: 'made' }));
  await called(() => exportModel('./made', 'exported'));
  await called(() => embed(['a text'], { model: 'made' }));
  await (await called(() => train({ path: 'rows.csv', base: 'made', output: 'next', ...quick, pretrained: true }))).close();
  const index = await called(() => search(['one text', 'another text'], { model: './made' }));
  await called(() => index.save('index'));
  await (await called(() => openSearch('./index'))).close();
  const type = 'binary-text-classification';
  await called(() => createClassificationArchive({ rows: { path: 'rows.csv' }, type, name: 'made' }, 'archive.zip'));
  await called(() => pullModel('sentiment-classification', { directory: 'pulled' }));
  const listed = await called(() => listModels({ directory: 'pulled' }));
  const learning = await called(() => train({ rows: [{ text: 'good', label: 'a' }, { text: 'bad', label: 'b' }, { text: 'fine', label: 'a' }, { text: 'awful', label: 'b' }], ...quick }));
  const more = [{ text: 'great', label: 'a' }, { text: 'broken', label: 'b' }];
  for (const each of [learning, await called(() => learning.learn(more, { output: 'learned' }))]) await each.close();
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
  for (const made of ['store', 'archive.zip', 'pulled', join('learned', 'config.json')])
    expect(existsSync(join(home, made))).toBe(true);
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

const archive = { type: 'binary-text-classification', name: 'made' } as const;

it('a path that begins with ~ is refused with what to give', async () => {
  const refused = [
    await loadModel('~/model'),
    await train({ rows, output: '~/model' }),
    await train({ path: '~/rows.csv' }),
    await exportModel('~/model', temporaryDirectory()),
    await openSearch('~/index'),
    await embed(['a'], { model: '~/model' }),
    await createClassificationArchive({ rows, ...archive }, '~/rows.zip'),
    await createClassificationArchive({ rows: { path: '~/rows.csv' }, ...archive }, 'rows.zip'),
    await pullModel('sentiment-classification', { directory: '~/models' }),
  ];
  for (const result of refused) expect(result.isErr() && result.error.message).toContain('only a shell expands ~');
  expect(() => fileStorage('~/store')).toThrow('only a shell expands ~');
  expect(() => hubModels({ cacheDirectory: '~/cache' })).toThrow('only a shell expands ~');
  expect(existsSync('~')).toBe(false);
});

it('what is no path or no rows is refused with what to give', async () => {
  const url = pathToFileURL(temporaryDirectory());
  const calls: readonly [(...given: never[]) => unknown, unknown[], string][] = [
    [loadModel, [url], 'model: give a string, not a URL object; give its href'],
    [train, [{ path: url }], 'path: give a string, not a URL object; give its href'],
    [
      createClassificationArchive,
      [{ rows, ...archive }, url],
      'outputPath: give a path, not a URL object; give its href',
    ],
    [createClassificationArchive, [archive, 'rows.zip'], 'rows: give an array or an iterable of rows, or { path }'],
    [
      createClassificationArchive,
      [{ rows: [null], ...archive }, 'rows.zip'],
      'rows line 1: found null; expected an object',
    ],
    [search, [], 'passages: missing; give an array'],
    [pullModel, [], 'name: give the name of a model'],
  ];
  for (const [call, given, told] of calls) {
    const result: unknown = await Reflect.apply(call, undefined, given);
    expect(String(Reflect.get(Object(result), 'error'))).toContain(told);
  }
  expect(() => Reflect.apply(fileStorage, undefined, [url])).toThrow('give a path, not a URL object; give its href');
  expect(() => Reflect.apply(fileStorage, undefined, [])).toThrow('directory: give a path');
});
