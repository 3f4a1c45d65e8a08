import { cp, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadModel } from '../../src/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A folder that another model replaces while its model is open: worker threads would load the other one later. */

const catalogue = join(import.meta.dirname, '../../models/catalogue');
const short = 'Works perfectly, would buy again.';
const long = `${short} `.repeat(400);

it('a model whose folder was replaced answers as itself, or says so; it never answers as the other model', async () => {
  const directory = join(temporaryDirectory(), 'model');
  await mkdir(directory, { recursive: true });
  await cp(join(catalogue, 'customer-review'), directory, { recursive: true });
  const model = (await loadModel(directory))._unsafeUnwrap();
  const before = (await model.predict(short))._unsafeUnwrap();
  await rename(directory, `${directory}.old`);
  await cp(join(catalogue, 'emotion-detection'), directory, { recursive: true });

  expect((await model.predict(short))._unsafeUnwrap()).toEqual(before);
  expect((await model.predict(long))._unsafeUnwrapErr()).toMatchObject({
    code: 'model_folder',
    message: expect.stringContaining('it has changed since the model was loaded; load the model again'),
  });
  const many = (await model.predict(Array.from({ length: 2000 }, () => short)))._unsafeUnwrap();
  expect(new Set(many.map((answer) => 'label' in answer && answer.label))).toEqual(new Set(['positive']));
  await model.close();
});
