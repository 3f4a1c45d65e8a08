import { writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { DEVICES } from '../../device-names.js';
import { evaluationReport, loadModel } from '../../easy/index.js';
import { checked } from '../checked.js';
import type { CommandRun } from '../command-definition.js';
import { interruption } from '../interruption.js';
import { outcomeOf } from '../outcome.js';
import { columnFields, columnsOf } from './column-settings.js';
import { evaluationLines } from './evaluation-lines.js';
import { numberSchema } from './shared-settings.js';

const evaluateSchema = z.strictObject({
  model: z.string().min(1),
  rows: z.string().min(1),
  report: z.string().min(1).optional(),
  ...columnFields,
  resamples: numberSchema.pipe(z.int().min(1)).optional(),
  seed: numberSchema.optional(),
  device: z.enum(DEVICES).optional(),
  threads: numberSchema.pipe(z.int().min(1)).optional(),
});

/** `orchard evaluate`: scores a model on rows with their right answers. */
export async function evaluate({ given, output, isJson }: CommandRun): Promise<number> {
  const settings = checked(evaluateSchema, given);
  const { model: name, rows, report, resamples, seed, device, threads } = settings;
  using interrupted = interruption();
  const { signal } = interrupted;
  await using model = await outcomeOf(
    loadModel(name, { signal, ...(device && { device }), ...(threads && { threads }) }),
  );
  const options = {
    columns: columnsOf(settings),
    signal,
    ...(resamples !== undefined && { resamples }),
    ...(seed !== undefined && { seed }),
  };
  const evaluation = await outcomeOf(model.evaluate(rows, options));
  if (report !== undefined) {
    await writeFile(report, await outcomeOf(evaluationReport(evaluation, { title: `${name} on ${rows}` })));
    output.note(`the report is in ${report}`);
  }
  if (isJson) await output.json(evaluation);
  else for (const line of evaluationLines(evaluation)) await output.line(line);
  return 0;
}
