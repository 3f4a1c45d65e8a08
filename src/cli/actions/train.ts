import { basename, extname, resolve } from 'node:path';
import * as z from 'zod';
import { type TrainedModel, type TrainOptions, train } from '../../easy/index.js';
import type { TrainingEvent } from '../../trainer/index.js';
import { checked } from '../checked.js';
import { closing } from '../closing.js';
import type { CommandRun } from '../command-definition.js';
import { interruptible } from '../interruption.js';
import { outcomeOf } from '../outcome.js';
import type { Output } from '../output.js';
import { Progress } from '../progress.js';
import { evaluationLines } from './evaluation-lines.js';
import { grouped } from './table.js';
import { progressOf, trainingFields, trainingOptions } from './training-settings.js';

/** What `orchard train` takes. */
export const trainSchema = z.strictObject({
  ...trainingFields,
  output: z.string().min(1).optional(),
  dev: z.string().min(1).optional(),
  test: z.string().min(1).optional(),
});
/** `orchard train`: trains a model, writes its folder, and tells how good it is. */
export async function trainModel({ given, terminal, output, isJson }: CommandRun): Promise<number> {
  const options = outputOptions(checked(trainSchema, given));
  const progress = new Progress(terminal);
  const onProgress = (event: TrainingEvent) => {
    const at = progressOf(event);
    if (at) progress.show(at.fraction, at.told);
  };
  const trained = interruptible((signal) => outcomeOf(train({ ...options, signal, onProgress })));
  await closing(await trained.finally(() => progress.clear()), (model) =>
    isJson ? output.json(summaryOf(model)) : tellModel(model, options.output, output),
  );
  return 0;
}

/** What `train` and `tune` are called with, and where the model goes. */
export function outputOptions(settings: z.infer<typeof trainSchema>) {
  const { data, dev, test } = settings;
  const own = settings.name ?? nameOf(data);
  return {
    ...trainingOptions(settings),
    ...(/^https?:/.test(data) ? { url: data } : { path: data }),
    ...{ dev, test, output: settings.output ?? `${own}-model` },
  } satisfies TrainOptions;
}

/** "data/Reviews 2.csv" → "Reviews 2" */
function nameOf(data: string): string {
  const path = URL.canParse(data) ? new URL(data).pathname : resolve(data);
  return basename(path, extname(path)) || 'model';
}

/** A trained model as one line of JSON. */
export function summaryOf({ name, type, labels, directory, training }: TrainedModel): object {
  return { name, directory, labels, ...training, type };
}

/** A trained model as people read of it. @param folder as it was typed. */
export async function tellModel(
  { training, type }: TrainedModel,
  folder: string,
  output: Output,
): Promise<void> {
  for (const { message } of training.warnings) output.warn(`warning: ${message}`);
  await output.line(`${folder}: ${type} (${training.reason})`);
  const rows = `${grouped(training.train)} rows trained on, ${grouped(training.dev)} to evaluate on`;
  await output.line(`${rows}: ${figuresOf(training)}; ${training.seconds.toFixed(1)} s`);
  if (training.test) for (const line of evaluationLines(training.test)) await output.line(line);
  output.note(`orchard predict ${folder} 'a text'   orchard evaluate ${folder} test.csv`);
}

function figuresOf({ accuracy, f1, topk }: TrainedModel['training']): string {
  const figures: readonly (readonly [string, number | undefined])[] = [
    ['accuracy', accuracy],
    ['F1', f1],
    ['right passage first', topk?.[1]],
    ['among the first five', topk?.[5]],
  ];
  const told = figures.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value.toFixed(3)}`],
  );
  return told.join(', ');
}
