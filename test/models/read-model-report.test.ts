import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readModelReport } from '../../src/models/index.js';
import { aReport } from '../report/a-report.js';
import { failureOf } from '../support/outcomes.js';
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
    expect(await readModelReport(aFolder(files))).toEqual({ config, training, evaluation });
  });

  it('reads a folder of a release without evaluations', async () => {
    const { 'evaluation.json': _, ...older } = files;
    expect(await readModelReport(aFolder(older))).toEqual({ config, training });
  });

  it.each([
    ['evaluation.json', '{', 'evaluation.json: '],
    ['evaluation.json', { ...evaluation, rows: 'many' }, 'evaluation.json: rows: '],
    ['training.json', { ...training, seed: undefined }, 'training.json: seed: '],
    ['config.json', [], 'config.json: '],
  ])('names an invalid %s and the field', async (name, content, message) => {
    const directory = aFolder({ ...files, [name]: content });
    const error = await failureOf('model_folder', () => readModelReport(directory));
    expect(error.message).toContain(message);
  });

  it('names a file that is missing', async () => {
    const { 'training.json': _, ...partial } = files;
    const error = await failureOf('model_folder', () => readModelReport(aFolder(partial)));
    expect(error.message).toMatch(/training\.json: ENOENT/);
  });
});
