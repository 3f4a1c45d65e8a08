import { readFile } from 'node:fs/promises';
import type { SearchSpace, Trial, TunedModel } from '../../api/index.js';
import { messageOf, orThrow, StorageError } from '../../contract/index.js';
import { counted } from '../../datasets/index.js';
import type { TrainingEvent } from '../../jobs/index.js';
import { command, UsageError } from '../command.js';
import { alignedLines } from '../format.js';
import { requireNotRead } from '../overwriting.js';
import { decimal, devFractionOption, integer, option, showTraining } from '../parameters.js';
import { interruptible, Progress } from '../terminal.js';
import { linesOf, outputOptions, summaryOf, trainParameters } from './train.js';

export const tuneCommand = command({
  name: 'tune',
  summary: 'train with many settings and keep the best model',
  details: `Trains with the default settings first, then with random ones. Most of them train for only a few epochs; the best third
continues (successive halving). All trials are compared on the same rows, which are set aside. Options such as
--learning-rate apply to every trial.

  orchard tune reviews.csv --minutes 10
  orchard tune reviews.csv --trials 30 --space space.json
  space.json: {"learningRate": {"min": 1e-4, "max": 1e-3, "scale": "log"}}`,
  parameters: {
    minutes: option('--minutes <number>', 'time limit, such as 10 or 0.5 (default: none)', positive),
    trials: option(
      '--trials <number>',
      'maximum number of trials, up to 1000 (default: 20, or 1000 with --minutes)',
      integer(1),
    ),
    space: option('--space <file>', 'JSON file with the settings to try (default: values around the default settings)'),
    ...trainParameters,
    devFraction: devFractionOption,
  },
  async run({ settings: { minutes, trials, space, ...training }, terminal, output }) {
    const { tune } = await import('../../api/index.js');
    const progress = new Progress(terminal);
    let trial = 0;
    const outputs = await outputOptions(training);
    await requireNotRead({ path: outputs.output, flag: '--output', inputs: [space] });
    const options = {
      ...outputs,
      ...(minutes !== undefined && { budgetSeconds: 60 * minutes }),
      ...(space !== undefined && { space: await readSpace(space) }),
      trials,
      onTrial: ({ number }: Trial) => {
        trial = number;
      },
      onProgress: (event: TrainingEvent) => showTraining(progress, event, `trial ${trial}, `),
    };
    const tuning = interruptible((signal) => orThrow(tune({ ...options, signal })));
    await using model = await tuning.finally(() => progress.clear());
    await output.result({ ...summaryOf(model), tuning: model.tuning }, [
      ...trialLines(model.tuning),
      ...(await linesOf(model, options.output, output)),
    ]);
  },
});

/** The most that the library's `budgetSeconds` allows. */
const MOST_MINUTES = 33_333;

function positive(typed: string): number {
  const number = decimal(typed);
  if (number > 0 && number <= MOST_MINUTES) return number;
  throw new UsageError(`give a number above 0, and at most ${MOST_MINUTES}`);
}

/** @throws StorageError if the file can't be read, UsageError if its contents are wrong */
async function readSpace(path: string): Promise<SearchSpace> {
  const { spaceSchema } = await import('../../api/index.js');
  const { validate } = await import('../../contract/index.js');
  const json = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new StorageError(`--space ${path}: ${cause}`, { cause });
  });
  try {
    return validate(spaceSchema, JSON.parse(json));
  } catch (thrown) {
    throw new UsageError(`--space ${path}: ${messageOf(thrown)}`);
  }
}

function trialLines({ trials, metric, best, endedBy, seconds }: TunedModel['tuning']): readonly string[] {
  const rows = trials.map((trial) => [
    `${trial.number}${trial.number === best.trial ? ' *' : ''}`,
    trial.status === 'failed' ? `failed: ${trial.error}` : trial.status,
    trial.runs.map(({ epochs, figure }) => `${figure.toFixed(4)} (${epochs})`).join('  '),
    `${trial.seconds.toFixed(0)} s`,
    settingsOf(trial),
  ]);
  return [
    ...alignedLines([['trial', 'end', `${metric} (epochs)`, 'time', 'settings'], ...rows]),
    `\n* best: trial ${best.trial}, ${counted(best.epochs, 'epoch')}, ${metric} ${best.figure.toFixed(4)} on the dev rows`,
    `${counted(trials.length, 'trial')} in ${seconds.toFixed(0)} s; stopped because ${reasons[endedBy]}`,
  ];
}

const reasons: Readonly<Record<TunedModel['tuning']['endedBy'], string>> = {
  time: 'no time was left for another trial',
  trials: 'the number of trials was reached',
  space: 'all combinations were tried',
};

function settingsOf({ number, settings }: Trial): string {
  if (number === 0) return 'defaults';
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ');
}
