import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import * as z from 'zod';
import { DEVICES } from '../../device-names.js';
import { type Evaluation, evaluationReport, loadModel } from '../../easy/index.js';
import { checked } from '../checked.js';
import { closing } from '../closing.js';
import type { CommandRun } from '../command-definition.js';
import { interruptible } from '../interruption.js';
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

type EvaluateSettings = z.infer<typeof evaluateSchema>;

/** `orchard evaluate`: scores a model on rows with their right answers. */
export async function evaluate({ given, output, isJson }: CommandRun): Promise<number> {
  const settings = checked(evaluateSchema, given);
  const { model, rows, report } = settings;
  const evaluation = await interruptible((signal) => evaluationOf(settings, signal));
  if (report !== undefined) {
    const title = `${model} on ${basename(rows)}`;
    await writeFile(report, await outcomeOf(evaluationReport(evaluation, { title })));
    output.note(`the report is in ${report}`);
  }
  if (isJson) await output.json(evaluation);
  else for (const line of evaluationLines(evaluation)) await output.line(line);
  return 0;
}

async function evaluationOf(settings: EvaluateSettings, signal: AbortSignal): Promise<Evaluation> {
  const { model, rows, resamples, seed, device, threads } = settings;
  const service = { signal, ...(device && { device }), ...(threads && { threads }) };
  const options = { columns: columnsOf(settings), signal, resamples, seed };
  return closing(await outcomeOf(loadModel(model, service)), (opened) =>
    outcomeOf(opened.evaluate(rows, options)),
  );
}
