import { basename, extname, resolve } from 'node:path';
import type { TrainedModel, TrainOptions } from '../../api/index.js';
import { unwrap } from '../../contract/index.js';
import type { TrainingEvent } from '../../jobs/index.js';
import { command, type Settings } from '../command.js';
import { evaluationLines, grouped } from '../format.js';
import { choice, option, showTraining, trainingOptions, trainingParameters } from '../parameters.js';
import { interruptible, type Output, Progress } from '../terminal.js';

/** What `train` and `tune` take: training settings, and where the model is written. */
export const trainParameters = {
  ...trainingParameters,
  output: option('-o, --output <folder>', 'model folder to write (default: <name>-model)'),
  dev: option('--dev <file>', 'rows to evaluate on during training, in the same format'),
  test: option('--test <file>', 'rows to evaluate the finished model on'),
};

export const trainCommand = command({
  name: 'train',
  summary: 'train a model on your own rows',
  details: `The rows are a file: CSV, JSON, JSON Lines or CoNLL, or an export of Label Studio, Prodigy, doccano or spaCy, as its
text says; the options from --text-column to --skip-invalid say it where that is wrong. A dataset archive works too, as a zip,
a folder or a URL. With up to 1,000 rows, a classifier learns from all of them and is cross-validated; else a tenth
of the rows is set aside for evaluation.

  orchard train reviews.csv
  orchard train names.conll --base english-base --output ./names-model`,
  parameters: {
    ...trainParameters,
    effort: choice(
      '--effort <effort>',
      'time to spend on a better model: a classifier of few rows (default: balanced)',
      ['quick', 'balanced', 'thorough'],
    ),
  },
  async run({ settings, terminal, output }) {
    const { train } = await import('../../api/index.js');
    const options = { ...outputOptions(settings), effort: settings.effort };
    const progress = new Progress(terminal);
    const onProgress = (event: TrainingEvent) => showTraining(progress, event);
    const training = interruptible((signal) => unwrap(train({ ...options, signal, onProgress })));
    await using model = await training.finally(() => progress.clear());
    await output.result(summaryOf(model), await linesOf(model, options.output, output));
  },
});

export function outputOptions(settings: Settings<typeof trainParameters>) {
  const { data, dev, test, name, output } = settings;
  return {
    ...trainingOptions(settings),
    ...(/^https?:/.test(data) ? { url: data } : { path: data }),
    ...{ dev, test, output: output ?? `${name ?? nameOf(data)}-model` },
  } satisfies TrainOptions;
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
  for (const { message } of training.warnings) output.warn(`warning: ${message}`);
  output.note(`orchard predict ${folder} 'a text'   orchard evaluate ${folder} test.csv`);
  const { train, dev, folds } = training;
  const judged = folds === undefined ? `${grouped(dev)} to evaluate on` : `cross-validated in ${folds} folds`;
  const rows = `${grouped(train)} rows trained on, ${judged}`;
  return [
    ...(training.readAs === undefined ? [] : [`read as ${training.readAs}`]),
    `${folder}: ${type} (${training.reason})`,
    `${rows}: ${figuresOf(training)}; ${training.seconds.toFixed(1)} s`,
    ...(training.test ? await evaluationLines(training.test) : []),
  ];
}

function figuresOf({ accuracy, interval, f1, topk }: TrainedModel['training']): string {
  const range = interval ? ` (${interval.low.toFixed(3)} to ${interval.high.toFixed(3)})` : '';
  const figures: readonly (readonly [string, number | undefined])[] = [
    ['accuracy', accuracy],
    ['F1', f1],
    ['right passage first', topk?.[1]],
    ['in the top five', topk?.[5]],
  ];
  return figures
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name} ${value.toFixed(3)}${name === 'accuracy' ? range : ''}`],
    )
    .join(', ');
}
