import { basename, extname, resolve } from 'node:path';
import * as z from 'zod';
import { documentedModelTypes, modelSizes } from '../../contract/index.js';
import { DEVICES } from '../../device-names.js';
import { type TrainedModel, type TrainOptions, train } from '../../easy/index.js';
import type { TrainingEvent } from '../../trainer/index.js';
import { checked } from '../checked.js';
import { closing } from '../closing.js';
import type { CommandRun } from '../command-definition.js';
import { interruptible } from '../interruption.js';
import { outcomeOf } from '../outcome.js';
import type { Output } from '../output.js';
import { Progress } from '../progress.js';
import { columnFields, columnsOf } from './column-settings.js';
import { evaluationLines } from './evaluation-lines.js';
import { decimalSchema, numberSchema, shareSchema } from './shared-settings.js';
import { grouped } from './table.js';

const countSchema = numberSchema.pipe(z.int().min(1)).optional();
const trainSchema = z.strictObject({
  data: z.string().min(1),
  type: z.enum(documentedModelTypes).optional(),
  base: z.string().min(1).optional(),
  output: z.string().min(1).optional(),
  name: z.string().min(1).optional(),
  size: z.enum(modelSizes).optional(),
  language: z.string().min(1).optional(),
  ...columnFields,
  dev: z.string().min(1).optional(),
  'dev-fraction': shareSchema.optional(),
  test: z.string().min(1).optional(),
  epochs: countSchema,
  'batch-size': countSchema,
  'learning-rate': decimalSchema.optional(),
  seed: numberSchema.optional(),
  device: z.enum(DEVICES).optional(),
  threads: countSchema,
});
type TrainSettings = z.infer<typeof trainSchema>;

/** `orchard train`: trains a model, writes its folder, and tells how good it is. */
export async function trainModel({ given, terminal, output, isJson }: CommandRun): Promise<number> {
  const settings = checked(trainSchema, given);
  const progress = new Progress(terminal);
  const onProgress = (event: TrainingEvent) => show(event, progress);
  const trained = interruptible((signal) => outcomeOf(train({ ...optionsOf(settings), signal, onProgress })));
  await closing(await trained.finally(() => progress.clear()), (model) =>
    isJson ? output.json(summaryOf(model)) : tell(model, output),
  );
  return 0;
}

function optionsOf(settings: TrainSettings): TrainOptions {
  const { data, type, base, size, language, dev, test, epochs, seed, device, threads } = settings;
  const own = settings.name ?? nameOf(data);
  return {
    ...(/^https?:/.test(data) ? { url: data } : { path: data }),
    ...{ type, base, size, language, dev, test, epochs, seed, device, threads },
    name: settings.name,
    output: settings.output ?? `${own}-model`,
    columns: columnsOf(settings),
    devFraction: settings['dev-fraction'],
    batchSize: settings['batch-size'],
    learningRate: settings['learning-rate'],
  };
}

/** "data/Reviews 2.csv" → "Reviews 2" */
function nameOf(data: string): string {
  const path = URL.canParse(data) ? new URL(data).pathname : resolve(data);
  return basename(path, extname(path)) || 'model';
}

function show(event: TrainingEvent, progress: Progress): void {
  if (event.type !== 'progress') return;
  const { phase, fraction, epoch, epochs, remainingMs } = event;
  const left = remainingMs === undefined ? '' : `, ${Math.ceil(remainingMs / 1000)} s left`;
  progress.show(fraction, phase === 'train' ? `epoch ${epoch + 1} of ${epochs}${left}` : `${phase}${left}`);
}

function summaryOf({ name, type, labels, directory, training }: TrainedModel): object {
  return { name, directory, labels, ...training, type };
}

async function tell(model: TrainedModel, output: Output): Promise<void> {
  const { training, type, directory } = model;
  for (const { message } of training.warnings) output.warn(`warning: ${message}`);
  await output.line(`${directory}: ${type} (${training.reason})`);
  const rows = `${grouped(training.train)} rows trained on, ${grouped(training.dev)} to evaluate on`;
  await output.line(`${rows}: ${figuresOf(training)}; ${training.seconds.toFixed(1)} s`);
  if (training.test) for (const line of evaluationLines(training.test)) await output.line(line);
  output.note(`orchard predict ${directory} 'a text'   orchard evaluate ${directory} test.csv`);
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
