import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { type SearchSpace, spaceSchema, type Trial, type TunedModel, tune } from '../../easy/index.js';
import { StorageError } from '../../errors.js';
import type { TrainingEvent } from '../../trainer/index.js';
import { checked } from '../checked.js';
import { closing } from '../closing.js';
import type { CommandRun } from '../command-definition.js';
import { interruptible } from '../interruption.js';
import { outcomeOf } from '../outcome.js';
import type { Output } from '../output.js';
import { Progress } from '../progress.js';
import { decimalSchema } from './shared-settings.js';
import { alignedLines } from './table.js';
import { outputOptions, summaryOf, tellModel, trainSchema } from './train.js';
import { countSchema, progressOf } from './training-settings.js';

const tuneSchema = z.strictObject({
  ...trainSchema.shape,
  minutes: decimalSchema.optional(),
  trials: countSchema,
  space: z.string().min(1).optional(),
});

/** `orchard tune`: searches for settings, writes the best model's folder, and tells what was tried. */
export async function tuneModel({ given, terminal, output, isJson }: CommandRun): Promise<number> {
  const { minutes, trials, space, ...training } = checked(tuneSchema, given);
  const progress = new Progress(terminal);
  let trial = 0;
  const onTrial = ({ number }: Trial) => {
    trial = number;
  };
  const onProgress = (event: TrainingEvent) => {
    const at = progressOf(event);
    if (at) progress.show(at.fraction, `trial ${trial}, ${at.told}`);
  };
  const options = {
    ...outputOptions(training),
    ...(minutes !== undefined && { budgetSeconds: 60 * minutes }),
    ...(space !== undefined && { space: await spaceIn(space) }),
    ...{ trials, onTrial, onProgress },
  };
  const tuned = interruptible((signal) => outcomeOf(tune({ ...options, signal })));
  await closing(await tuned.finally(() => progress.clear()), (model) =>
    isJson ? output.json({ ...summaryOf(model), tuning: model.tuning }) : tell(model, options.output, output),
  );
  return 0;
}

/** @throws StorageError for a file that can't be read, UsageError for what is wrong in it */
async function spaceIn(path: string): Promise<SearchSpace> {
  let space: unknown;
  try {
    space = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new StorageError(`the space ${path}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
  return checked(z.strictObject({ space: spaceSchema }), { space }).space;
}

async function tell(model: TunedModel, folder: string, output: Output): Promise<void> {
  const { trials, metric, best, endedBy, seconds } = model.tuning;
  const rows = trials.map((trial) => [
    `${trial.number}${trial.number === best.trial ? ' *' : ''}`,
    trial.status === 'failed' ? `failed: ${trial.error}` : trial.status,
    trial.runs.map(({ epochs, figure }) => `${figure.toFixed(4)} (${epochs})`).join('  '),
    `${trial.seconds.toFixed(0)} s`,
    settingsOf(trial),
  ]);
  const head = ['trial', 'end', `${metric} (epochs)`, 'time', 'settings'];
  for (const line of alignedLines([head, ...rows])) await output.line(line);
  await output.line(
    `\n* the best: trial ${best.trial}, ${best.epochs} epochs, ${metric} ${best.figure.toFixed(4)} on dev`,
  );
  await output.line(`${trials.length} trials in ${seconds.toFixed(0)} s; ${ends[endedBy]}`);
  await tellModel(model, folder, output);
}

const ends: Readonly<Record<TunedModel['tuning']['endedBy'], string>> = {
  time: 'there was no time for another',
  trials: 'no more were asked for',
  space: 'the space has no others',
};

function settingsOf({ number, settings }: Trial): string {
  const told = Object.entries(settings).map(([name, value]) => {
    return `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`;
  });
  return number === 0 ? 'the defaults' : told.join(', ');
}
