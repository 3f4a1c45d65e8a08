import { readFile } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import type { TrainedModel, TrainOptions } from '../../api/index.js';
import { EFFORTS, orThrow, StorageError } from '../../contract/index.js';
import { grouped } from '../../datasets/index.js';
import type { TrainingEvent } from '../../jobs/index.js';
import { command, type Settings, UsageError } from '../command.js';
import { classLines, evaluationLines } from '../format.js';
import { requireNotRead } from '../overwriting.js';
import {
  choice,
  option,
  rulesOf,
  rulesOption,
  showTraining,
  trainingOptions,
  trainingParameters,
} from '../parameters.js';
import { interruptible, type Output, Progress } from '../terminal.js';

/** What `train` and `tune` take: training settings, and where the model is written. */
export const trainParameters = {
  ...trainingParameters,
  output: option('-o, --output <folder>', 'model folder to write (default: <name>-model)'),
  labels: option(
    '--labels <labels>',
    'labels of a classifier, separated by commas, or a JSON file that maps each label to what it means (default: those of the rows)',
  ),
  dev: option('--dev <file>', 'rows to evaluate on during training, in the same format'),
  test: option('--test <file>', 'rows to evaluate the finished model on'),
  rules: rulesOption,
};

export const trainCommand = command({
  name: 'train',
  summary: 'train a model on your own rows',
  details: `The data is a file of rows: CSV, JSON, JSON Lines or CoNLL, or an export of Label Studio, Prodigy, doccano or spaCy.
Its format is detected from its content and extension; the options from --text-column to --skip-invalid override what is
detected. The data can also be a dataset archive: a zip, a folder or a URL. With up to 1,000 rows (20,000 with --effort
quick), an entity model or a classifier of single texts is trained on all of them and cross-validated. Otherwise, or with
--epochs, --batch-size or --learning-rate, a tenth of the rows is set aside for evaluation, unless --dev gives others, or
there are fewer than 200 questions. Without data, --labels makes a first classifier from the names of the labels or from
what they mean.

  orchard train reviews.csv
  orchard train --labels refund,complaint,question
  orchard train names.conll --base english-base --output ./names-model`,
  parameters: {
    ...trainParameters,
    data: option('[data]', trainParameters.data.description),
    effort: choice(
      '--effort <effort>',
      'classifiers and entity models trained on few rows: how much time to spend on a better model (default: balanced)',
      EFFORTS,
    ),
  },
  async run({ settings, terminal, output }) {
    const { train } = await import('../../api/index.js');
    if (settings.data === undefined && settings.labels === undefined) {
      throw new UsageError('nothing to train on; give a file of rows, an archive, or --labels');
    }
    const options = { ...(await outputOptions(settings)), effort: settings.effort };
    const progress = new Progress(terminal);
    const onProgress = (event: TrainingEvent) => showTraining(progress, event);
    const training = interruptible((signal) => orThrow(train({ ...options, signal, onProgress })));
    await using model = await training.finally(() => progress.clear());
    await output.result(summaryOf(model), await linesOf(model, options.output, output));
  },
});

type OutputSettings = Omit<Settings<typeof trainParameters>, 'data'> & { readonly data: string | undefined };

/** @throws StorageError if the file of --labels can't be read, UsageError if it has no labels */
export async function outputOptions({ data, ...settings }: OutputSettings) {
  const { dev, test, name, labels } = settings;
  const output = settings.output ?? `${name ?? (data === undefined ? 'labels' : nameOf(data))}-model`;
  await requireNotRead({ path: output, flag: '--output', inputs: [data, dev, test, labels, settings.rules] });
  const rules = await rulesOf(settings.rules);
  return {
    ...trainingOptions(settings),
    ...(data === undefined ? {} : /^https?:/.test(data) ? { url: data } : { path: data }),
    ...(labels !== undefined && { labels: await labelsOf(labels) }),
    ...(rules !== undefined && { rules }),
    ...{ dev, test, output },
  } satisfies TrainOptions;
}

/** @param typed names with commas between, or the path of a JSON file: an array of names, or what each means */
async function labelsOf(typed: string): Promise<NonNullable<TrainOptions['labels']>> {
  if (!/\.json$/i.test(typed)) return typed.split(',').map((name) => name.trim());
  const json = await readFile(typed, 'utf8').catch((cause: unknown) => {
    throw new StorageError(`--labels ${typed}: ${cause}`, { cause });
  });
  try {
    const given: unknown = JSON.parse(json);
    if (Array.isArray(given) && given.every((name) => typeof name === 'string')) return given;
    const means = Object.entries(typeof given === 'object' && given !== null && !Array.isArray(given) ? given : {});
    const told = means.flatMap(([label, meaning]) => (typeof meaning === 'string' ? [[label, meaning] as const] : []));
    if (told.length > 0 && told.length === means.length) return Object.fromEntries(told);
  } catch {
    // said below
  }
  const expected = 'a JSON array of names, or an object such as {"refund": "wants the money back"}';
  throw new UsageError(`--labels ${typed}: give ${expected}`);
}

/** "data/Reviews 2.csv" → "Reviews 2" */
function nameOf(data: string): string {
  const path = URL.canParse(data) ? new URL(data).pathname : resolve(data);
  return basename(path, extname(path)) || 'model';
}

export function summaryOf({ name, type, labels, directory, training }: Omit<TrainedModel, 'learn'>): object {
  return { name, directory, labels, ...training, type };
}

/** A trained model as text; its warnings go to standard error. @param folder as typed */
export async function linesOf(
  { training, type }: Omit<TrainedModel, 'learn'>,
  folder: string,
  output: Output,
): Promise<readonly string[]> {
  if (output.isJson) return [];
  output.warnings([...training.warnings, ...(training.test?.warnings ?? [])]);
  output.note(`orchard predict ${folder} 'a text'   orchard evaluate ${folder} test.csv`);
  const { train } = training;
  if (train === 0) {
    const made = `made from the names or meanings of the labels, without rows; ${training.seconds.toFixed(1)} s`;
    return [
      `${folder}: ${type} (${training.reason})`,
      made,
      ...(training.test ? await evaluationLines(training.test) : []),
    ];
  }
  const rows = `${grouped(train)} rows trained on, ${howJudged(training)}`;
  return [
    ...(training.readAs === undefined ? [] : [`read as ${training.readAs}`]),
    `${folder}: ${type} (${training.reason})`,
    `${rows}: ${figuresOf(training)}; ${training.seconds.toFixed(1)} s`,
    ...classLinesOf(training),
    ...(training.test ? await evaluationLines(training.test) : []),
  ];
}

const MOST_CLASSES = 12;

/** The figures of each class; of many, those with the lowest F1. */
function classLinesOf({ classes = [] }: TrainedModel['training']): readonly string[] {
  if (classes.length === 0) return [];
  if (classes.length <= MOST_CLASSES) return classLines(classes);
  const worst = classes.toSorted((a, b) => a.f1 - b.f1).slice(0, MOST_CLASSES);
  return [`the ${MOST_CLASSES} of ${grouped(classes.length)} with the lowest F1:`, ...classLines(worst)];
}

function figuresOf({ accuracy, interval, f1, positive, macroF1, topk }: TrainedModel['training']): string {
  const range = interval ? ` (${interval.low.toFixed(3)} to ${interval.high.toFixed(3)})` : '';
  // Of more than two labels, F1 is the macro mean, too.
  const isMean = positive === undefined && accuracy !== undefined && macroF1 !== undefined;
  const figures: readonly (readonly [string, number | undefined])[] = [
    ['accuracy', accuracy],
    [positive === undefined ? 'F1' : `F1 of ${JSON.stringify(positive)}`, isMean ? undefined : f1],
    ['macro F1', macroF1],
    ['right passage first', topk?.[1]],
    ['in the top five', topk?.[5]],
  ];
  return figures
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name} ${value.toFixed(3)}${name === 'accuracy' ? range : ''}`],
    )
    .join(', ');
}

function howJudged({ dev, folds, judgedRows }: TrainedModel['training']): string {
  if (folds === undefined) return `${grouped(dev)} to evaluate on`;
  if (folds > 1) return `cross-validated in ${grouped(folds)} folds`;
  return `${grouped(judgedRows)} of them judged by a model trained without them`;
}
