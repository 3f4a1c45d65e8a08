import * as z from 'zod';
import { exportModel } from '../../model-folder/index.js';
import { checked } from '../checked.js';
import type { CommandRun } from '../command-definition.js';
import { outcomeOf } from '../outcome.js';
import { modelDirectory } from './model-directory.js';
import { grouped } from './table.js';

const exportSchema = z.strictObject({
  model: z.string().min(1),
  output: z.string().min(1),
  precision: z.enum(['fp32', 'int8']).optional(),
});

/** `orchard export`: a copy of a model in a folder or zip. */
export async function exportTo({ given, output, isJson }: CommandRun): Promise<number> {
  const { model: name, output: target, precision } = checked(exportSchema, given);
  const exported = await outcomeOf(exportModel(await modelDirectory(name), target, { precision }));
  if (isJson) await output.json(exported);
  else {
    const { path, files, bytes } = exported;
    await output.line(`${path}: ${files.length} files, ${grouped(bytes)} bytes`);
  }
  return 0;
}
