import { writeFile } from 'node:fs/promises';
import * as z from 'zod';
import {
  type CrossValidateOptions,
  type CrossValidation,
  crossValidate,
  type DoubtfulRow,
} from '../../easy/index.js';
import type { TrainingEvent } from '../../trainer/index.js';
import { checked } from '../checked.js';
import type { CommandRun } from '../command-definition.js';
import { interruptible } from '../interruption.js';
import { outcomeOf } from '../outcome.js';
import type { Output } from '../output.js';
import { Progress } from '../progress.js';
import { evaluationLines } from './evaluation-lines.js';
import { numberSchema } from './shared-settings.js';
import { alignedLines, grouped } from './table.js';
import { countSchema, progressOf, trainingFields, trainingOptions } from './training-settings.js';

const crossValidateSchema = z.strictObject({
  ...trainingFields,
  folds: numberSchema.optional(),
  repeats: countSchema,
  'group-column': z.string().min(1).optional(),
  answers: z.string().min(1).optional(),
  doubtful: numberSchema.default(10),
});

/** `orchard cross-validate`: judges by all rows, and lists doubtful labels. */
export async function crossValidateRows({ given, terminal, output, isJson }: CommandRun): Promise<number> {
  const settings = checked(crossValidateSchema, given);
  const progress = new Progress(terminal);
  let done = 0;
  const options: CrossValidateOptions = {
    ...trainingOptions(settings),
    path: settings.data,
    folds: settings.folds,
    repeats: settings.repeats,
    groupColumn: settings['group-column'],
    onFold: () => {
      done += 1;
    },
    onProgress: (event: TrainingEvent) => {
      const at = progressOf(event);
      if (at) progress.show(at.fraction, `fold ${done + 1}, ${at.told}`);
    },
  };
  const working = interruptible((signal) => outcomeOf(crossValidate({ ...options, signal })));
  const { answers, ...result } = await working.finally(() => progress.clear());
  if (settings.answers !== undefined) {
    await writeFile(settings.answers, answers.map((each) => `${JSON.stringify(each)}\n`).join(''));
    output.note(`the answers are in ${settings.answers}`);
  }
  if (isJson) await output.json(result);
  else await tell(result, output, settings.doubtful);
  return 0;
}

async function tell(
  {
    type,
    reason,
    evaluations,
    figures,
    folds,
    doubtful,
    warnings,
    seconds,
  }: Omit<CrossValidation, 'answers'>,
  output: Output,
  most: number,
): Promise<void> {
  for (const { message } of warnings) output.warn(`warning: ${message}`);
  await output.line(`${type} (${reason}); ${folds.length} trainings in ${seconds.toFixed(0)} s`);
  for (const [repeat, evaluation] of evaluations.entries()) {
    if (evaluations.length > 1) await output.line(`\nrepeat ${repeat + 1} of ${evaluations.length}`);
    for (const line of evaluationLines(evaluation)) await output.line(line);
  }
  const rows = figures.map(({ name, mean, deviation, lowest, highest }) => [
    name,
    `${mean.toFixed(4)} ± ${deviation.toFixed(4)}`,
    `${lowest.toFixed(4)} to ${highest.toFixed(4)}`,
  ]);
  await output.line('\nfold by fold:');
  for (const line of alignedLines([['', 'mean ± deviation', 'range'], ...rows])) await output.line(line);
  if (doubtful.length === 0 || most === 0) return;
  await output.line(`\n${grouped(doubtful.length)} rows with doubtful labels, the most doubtful first:`);
  for (const line of alignedLines(doubtful.slice(0, most).map(cellsOf))) await output.line(line);
}

function cellsOf({ row, text, given, suggested, score }: DoubtfulRow): readonly string[] {
  const named = (labels: readonly string[]) => labels.join(', ') || '-';
  return [
    `row ${row + 1}`,
    score.toFixed(2),
    `${named(given)} → ${named(suggested)}`,
    text.replace(/\s+/g, ' '),
  ];
}
