import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readModelReport } from '../../src/model-folder/index.js';
import { aReport } from '../report/a-report.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

function aFolder(files: Readonly<Record<string, unknown>>): string {
  const directory = temporaryDirectory();
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(directory, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return directory;
}

const { config, training, evaluation } = aReport();
const files = { 'config.json': config, 'training.json': training, 'evaluation.json': evaluation };

describe('readModelReport', () => {
  it('reads configuration, training and evaluation', async () => {
    const report = await readModelReport(aFolder(files));
    expect(report._unsafeUnwrap()).toEqual({ config, training, evaluation });
  });

  it('reads a folder from before there was an evaluation', async () => {
    const { 'evaluation.json': _, ...older } = files;
    expect((await readModelReport(aFolder(older)))._unsafeUnwrap()).toEqual({ config, training });
  });

  it.each([
    ['evaluation.json', '{', 'evaluation.json: '],
    ['evaluation.json', { ...evaluation, rows: 'many' }, 'evaluation.json: rows: '],
    ['training.json', { ...training, seed: undefined }, 'training.json: seed: '],
    ['config.json', [], 'config.json: '],
  ])('names a spoiled %s and the field', async (name, content, message) => {
    const outcome = await readModelReport(aFolder({ ...files, [name]: content }));
    const error = outcome._unsafeUnwrapErr();
    expect(error.code).toBe('model_folder');
    expect(error.message).toContain(message);
  });

  it('names a file that is missing', async () => {
    const { 'training.json': _, ...partial } = files;
    const error = (await readModelReport(aFolder(partial)))._unsafeUnwrapErr();
    expect(error.message).toMatch(/training\.json: ENOENT/);
  });
});
