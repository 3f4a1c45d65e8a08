import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { distill, exportModel, type TeacherFunction, train, tune } from '../../src/index.js';
import { rows } from '../public/sentiments.js';
import { errorOf } from '../support/outcomes.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A model's folder is replaced with all that is in it, so nothing in it may be read, or kept, by the same call. */

const ROWS = 'text,label\nit is good,yes\nit is bad,no\n';

/** A folder with rows.csv, a model in `m` with rows, a model and links around it. */
function aFolder() {
  const folder = temporaryDirectory();
  const place = (name: string) => join(folder, name);
  mkdirSync(place('m/inner'), { recursive: true });
  for (const name of ['m/config.json', 'm/inner/config.json']) writeFileSync(place(name), '{}');
  for (const name of ['rows.csv', 'm/rows.csv']) writeFileSync(place(name), ROWS);
  symlinkSync(place('m/rows.csv'), place('link.csv'));
  symlinkSync(place('m'), place('link'));
  return place;
}

const unused: TeacherFunction = () => {
  throw new Error('the teacher was asked');
};
const unread = {
  [Symbol.iterator]: () => {
    throw new Error('the rows were read');
  },
};

type Place = ReturnType<typeof aFolder>;

describe('an output with something in it that is read', () => {
  it.each<[string, (place: Place) => PromiseLike<unknown>]>([
    ['path of train', (place) => errorOf(train({ path: place('m/rows.csv'), output: place('m') }))],
    ['path of train as a link', (place) => errorOf(train({ path: place('link.csv'), output: place('m') }))],
    [
      'path of train, with a link as output',
      (place) => errorOf(train({ path: place('m/rows.csv'), output: place('link') })),
    ],
    ['dev of train', (place) => errorOf(train({ rows: unread, dev: place('m/rows.csv'), output: place('m') }))],
    ['test of train', (place) => errorOf(train({ rows: unread, test: place('m/rows.csv'), output: place('m') }))],
    ['base of train', (place) => errorOf(train({ rows: unread, base: place('m/inner'), output: place('m') }))],
    ['path of tune', (place) => errorOf(tune({ path: place('m/rows.csv'), output: place('m') }))],
    [
      'space.base of tune',
      (place) => errorOf(tune({ rows: unread, space: { base: [place('m/inner')] }, output: place('m') })),
    ],
    [
      'texts of distill',
      (place) => errorOf(distill({ teacher: unused, texts: place('m/rows.csv'), output: place('m') })),
    ],
    [
      'rows of distill',
      (place) => errorOf(distill({ teacher: unused, texts: unread, rows: place('m/rows.csv'), output: place('m') })),
    ],
    [
      'dev of distill',
      (place) => errorOf(distill({ teacher: unused, texts: unread, dev: place('m/rows.csv'), output: place('m') })),
    ],
    [
      'teacher of distill',
      (place) => errorOf(distill({ teacher: place('m/inner'), texts: unread, output: place('m') })),
    ],
    [
      'one of the teachers of distill',
      (place) =>
        errorOf(
          distill({ teacher: ['sentiment-classification', place('m/inner')], texts: unread, output: place('m') }),
        ),
    ],
    ['folder of exportModel', (place) => errorOf(exportModel(place('m/inner'), place('m')))],
    ['folder of exportModel itself', (place) => errorOf(exportModel(place('m'), place('m')))],
  ])('is refused before anything is read: %s', async (_, call) => {
    const place = aFolder();
    expect(await call(place)).toMatchObject({
      code: 'validation',
      problems: [{ loc: ['output'], msg: expect.stringMatching(/^writing .* would destroy .*, which is read; give/) }],
    });
    expect(readFileSync(place('m/rows.csv'), 'utf8')).toBe(ROWS);
    expect(existsSync(place('m/inner/config.json'))).toBe(true);
  });

  it('is not refused for its own model as the base, nor for files around it', async () => {
    const place = aFolder();
    const options = { path: place('rows.csv'), base: place('m'), output: place('m') };
    const tooFew = { code: 'dataset', message: expect.stringContaining('too few') };
    expect(await errorOf(train(options))).toMatchObject(tooFew);
  });
});

it('answers are not kept in the output folder of distill, whether or not it exists', async () => {
  const place = aFolder();
  for (const [output, answers] of [
    ['m', 'm/answers.jsonl'],
    ['m', 'link/answers.jsonl'],
    ['new', 'new/deep/answers.jsonl'],
    ['new', 'new'],
  ] as const) {
    const options = { teacher: unused, texts: unread, output: place(output), answers: place(answers) };
    expect(await errorOf(distill(options))).toMatchObject({
      code: 'validation',
      problems: [{ loc: ['answers'], msg: expect.stringMatching(/is in the output folder .*, which is replaced/) }],
    });
  }
  expect(existsSync(place('new'))).toBe(false);
});

it('a base is refused with `pretrained: false`, which would ignore it', async () => {
  const base = 'sentiment-classification';
  const msg = expect.stringMatching(/has no effect with `pretrained: false`/);
  const refused = (...loc: string[]) => ({ code: 'validation', problems: [{ loc, msg }] });
  const random = { rows, pretrained: false } as const;
  expect(await errorOf(train({ ...random, base }))).toMatchObject(refused('base'));
  expect(await errorOf(tune({ ...random, base }))).toMatchObject(refused('base'));
  expect(await errorOf(tune({ ...random, space: { base: [base] } }))).toMatchObject(refused('space', 'base'));
  const distilled = distill({ teacher: unused, texts: unread, pretrained: false, base, answers: 'none.jsonl' });
  expect(await errorOf(distilled)).toMatchObject(refused('base'));
});
