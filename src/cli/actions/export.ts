import { stat } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import * as z from 'zod';
import { writeZip } from '../../datasets/index.js';
import { exportModel } from '../../easy/index.js';
import { type FileContent, filesIn, TemporaryDirectory } from '../../files/index.js';
import { checked } from '../checked.js';
import type { CommandRun } from '../command-definition.js';
import { outcomeOf } from '../outcome.js';
import { UsageError } from '../usage-error.js';
import { modelDirectory } from './model-directory.js';
import { grouped } from './table.js';

const exportSchema = z.strictObject({
  model: z.string().min(1),
  output: z.string().min(1),
  precision: z.enum(['fp32', 'int8']).default('fp32'),
});

const ZIP_ENDING = '.zip';

/** `orchard export`: a copy of a model in a folder or zip. */
export async function exportTo({ given, output, isJson }: CommandRun): Promise<number> {
  const { model, output: target, precision } = checked(exportSchema, given);
  const weights = precision === 'fp32' ? 'float32' : 'int8';
  const directory = await modelDirectory(model);
  const path = resolve(target);
  const files = await (extname(path) === ZIP_ENDING ? zipped : copied)(directory, path, weights);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const exported = { path, precision, files: files.map((file) => file.path), bytes };
  if (isJson) await output.json(exported);
  else await output.line(`${path}: ${files.length} files, ${grouped(bytes)} bytes, in ${precision}`);
  return 0;
}

type Weights = 'float32' | 'int8';

async function copied(directory: string, path: string, weights: Weights): Promise<readonly FileContent[]> {
  await outcomeOf(exportModel(directory, path, { weights }));
  return filesIn(path);
}

/** In a folder of the zip's name, as one that unpacks it expects. */
async function zipped(directory: string, path: string, weights: Weights): Promise<readonly FileContent[]> {
  const isThere = await stat(path).then(Boolean, () => false);
  if (isThere) throw new UsageError(`${path} is there already; name a new file`);
  const temporary = new TemporaryDirectory();
  try {
    const folder = join(await temporary.path(), 'model');
    const files = await copied(directory, folder, weights);
    const name = basename(path, ZIP_ENDING);
    const entries = files.map((file) => [`${name}/${file.path}`, { file: join(folder, file.path) }] as const);
    await writeZip(path, Object.fromEntries(entries));
    return files;
  } finally {
    await temporary.remove();
  }
}
