import { clearTimeout, setTimeout } from 'node:timers';
import * as z from 'zod';
import { AbortedError, isOrchardError, requireOptions, TrainingError, validate } from '../contract/index.js';
import { counted, invalid } from '../datasets/index.js';
import { typeFacts } from '../families/index.js';
import { type TrainingEvent, tuningSchema } from '../jobs/index.js';
import { claimFolder, type FoundModel, findModel, readModelReport } from '../models/index.js';
import { Random, TemporaryDirectory } from '../system/index.js';
import type { TunedModel } from './model.js';
import { MODEL_FOLDER } from './open-model.js';
import { requireNotRead } from './paths.js';
import {
  type CheckedSpace,
  defaultSpace,
  drawSettings,
  fixedSetting,
  spaceSchema,
  type TrialSettings,
} from './search-space.js';
import { nameOf, type PreparedDataset, prepareDataset } from './training/prepare-dataset.js';
import {
  filesOf,
  openTrained,
  readOnce,
  requireUsed,
  type TrainedFolder,
  trainInFolder,
} from './training/train-model.js';
import {
  callback,
  requireUsedBase,
  requireUsedSize,
  settingsFrom,
  type TrainSettings,
  trainSchema,
} from './training/train-options.js';
import type { Trial, TrialRun, TuneOptions, TuningSummary } from './tune.js';

/** How `tune` works: trains the defaults in full, then other trials by successive halving, and keeps the best model. */

const MOST_TRIALS = 1000;
const DEFAULT_TRIALS = 20;

const { effort, ...trainingShape } = trainSchema.shape;
const tuneSchema = z.strictObject({
  ...trainingShape,
  tuning: tuningSchema.omit({ effort: true }).optional(),
  budgetSeconds: z.number().positive().max(2_000_000).optional(),
  trials: z.int().min(1).max(MOST_TRIALS).optional(),
  space: spaceSchema.optional(),
  onTrial: callback<(trial: Trial) => void>().optional(),
});

export async function tuneModel(options: TuneOptions): Promise<TunedModel> {
  const startedAt = performance.now();
  const settings = tuneSettings(options);
  const { training, space } = settings;
  const { output, signal, base } = training;
  if (signal?.aborted) throw new AbortedError('the search', { cause: signal.reason });
  await requireNotRead(output, { inputs: filesOf(training), models: [base, ...(space?.base ?? [])] });
  const search = () => searchAndOpen(settings, startedAt);
  return output === undefined ? search() : claimFolder(output, MODEL_FOLDER, 'output', search);
}

async function searchAndOpen(given: TuneSettings, startedAt: number): Promise<TunedModel> {
  const training = { ...given.training, ...(await readOnce(given.training)) };
  const settings = { ...given, training };
  const bases = await placedBases(settings);
  const work = new TemporaryDirectory();
  try {
    if (training.source.kind === 'labels') throw invalid(['rows'], 'trials are compared on rows; give rows');
    const dataset = await prepareDataset(training, await work.path(), { isReadOften: true });
    await requireUsed(dataset, training);
    requireUseful(settings.space, dataset);
    const { trained, run, tuning } = await new Search({ settings, dataset, bases, startedAt }).run();
    const seconds = (performance.now() - startedAt) / 1000;
    const model = await openTrained(trained, { ...dataset.type, readAs: dataset.readAs }, run.seconds, training);
    return Object.assign(model, { tuning: { ...tuning, seconds } });
  } finally {
    await work.remove();
  }
}

interface TuneSettings {
  readonly training: TrainSettings;
  readonly budgetSeconds: number | undefined;
  readonly trials: number;
  readonly space: CheckedSpace | undefined;
  readonly onTrial: TuneOptions['onTrial'];
}

function tuneSettings(options: unknown): TuneSettings {
  const { budgetSeconds, trials, space, onTrial, ...given } = validate(
    tuneSchema,
    requireOptions(options ?? {}, '`tune({ rows })`'),
  );
  const training = settingsFrom(given);
  const twice = space && fixedSetting(space, { ...training, size: given.size });
  if (twice !== undefined) {
    throw invalid(['space', twice], `\`${twice}\` is also an option with a fixed value; leave one of the two out`);
  }
  requireUsedBase({ base: space?.base, pretrained: training.pretrained }, ['space', 'base']);
  requireUsedSize({ base: given.base ?? space?.base, size: space?.size }, ['space', 'size']);
  const most = budgetSeconds === undefined ? DEFAULT_TRIALS : MOST_TRIALS;
  return { training, budgetSeconds, trials: trials ?? most, space, onTrial };
}

/** The folders of all models that trials may start from, by name. @throws as `base` of `train` fails */
async function placedBases({ training, space }: TuneSettings): Promise<ReadonlyMap<string, FoundModel>> {
  const { base, modelLoader, signal } = training;
  const names = new Set([...(base === undefined ? [] : [base]), ...(space?.base ?? [])]);
  const found = new Map<string, FoundModel>();
  for (const name of names) found.set(name, await findModel(name, { modelLoader, backbones: true, signal }));
  return found;
}

function metricOf({ type }: PreparedDataset): TuningSummary['metric'] {
  return typeFacts[type.type].mainMetric ?? 'mrr';
}

function hasLabels(dataset: PreparedDataset): boolean {
  return metricOf(dataset) !== 'mrr';
}

/** @throws ValidationError if the space has a setting that the type of model does not use */
function requireUseful(space: CheckedSpace | undefined, dataset: PreparedDataset): void {
  if (hasLabels(dataset)) return;
  for (const name of ['labelSmoothing', 'classWeights'] as const) {
    if (space?.[name] === undefined) continue;
    throw invalid(['space', name], `${dataset.type.type} does not use \`${name}\`; leave it out`);
  }
}

interface SearchInput {
  readonly settings: TuneSettings;
  readonly dataset: PreparedDataset;
  readonly bases: ReadonlyMap<string, FoundModel>;
  /** When the budget started, from `performance.now`. */
  readonly startedAt: number;
}

/** A full run. Its folder is removed unless it is the best. */
interface FullRun {
  readonly trial: number;
  readonly run: TrialRun;
  readonly trained: TrainedFolder;
}

class Search {
  readonly #input: SearchInput;
  readonly #random: Random;
  readonly #trials: Trial[] = [];
  readonly #outOfTime = new AbortController();
  #best: FullRun | undefined;

  constructor(input: SearchInput) {
    this.#input = input;
    this.#random = Random.fromSeed(input.settings.training.seed);
  }

  /**
   * @returns the best run, whose folder the caller removes.
   * @throws AbortedError, any error of the trial with the defaults, and what a callback throws
   */
  async run() {
    const left = this.#secondsLeft();
    const timer = Number.isFinite(left)
      ? setTimeout(() => this.#outOfTime.abort(), 1000 * Math.max(0, left))
      : undefined;
    try {
      const endedBy = await this.#search();
      if (this.#best === undefined) throw new TrainingError('no trial has made a model');
      const { trial, run, trained } = this.#best;
      const best = { trial, epochs: run.epochs, figure: run.figure };
      // Trials that still wait were too weak to continue.
      const trials = this.#trials.map(
        (each): Trial => (each.status === 'waiting' ? { ...each, status: 'weak' } : each),
      );
      return { trained, run, tuning: { metric: metricOf(this.#input.dataset), best, trials, endedBy } };
    } catch (thrown) {
      await this.#best?.trained.remove();
      throw thrown;
    } finally {
      clearTimeout(timer);
    }
  }

  async #search(): Promise<TuningSummary['endedBy']> {
    const { settings } = this.#input;
    const watch = new RunWatch();
    await this.#train(this.#newTrial({}), { epochs: settings.training.epochs, isFull: true }, watch);
    const epochs = watch.epochs ?? 1;
    const cost = costOf(watch);
    const space = settings.space ?? (await this.#defaultSpace());
    const shares = rungShares(epochs);
    const halving = new Halving(shares.length, settings.trials - 1);
    const drawn = new Set([JSON.stringify({})]);
    const epochsOn = (rung: number, most = epochs) => Math.max(1, Math.round(most * (shares[rung] ?? 1)));
    let isUsedUp = false;
    for (;;) {
      const left = this.#secondsLeft();
      const step = halving.next({ left, cost: (rung) => cost(epochsOn(rung)) });
      if (step === 'no time') return 'time';
      if (step === 'no trials') return isUsedUp ? 'space' : 'trials';
      const trial = this.#trials[step.trial] ?? this.#drawnTrial(space, drawn);
      if (trial === undefined) {
        isUsedUp = true;
        halving.closeToNew();
        continue;
      }
      halving.begin(step);
      const plan = { epochs: epochsOn(step.rung, trial.settings.epochs), isFull: step.rung === shares.length - 1 };
      const figure = await this.#train(trial, plan);
      if (figure !== undefined) halving.ended(step, figure);
      if (this.#outOfTime.signal.aborted) return 'time';
    }
  }

  /** @returns the metric on dev; undefined if the run failed or was stopped */
  async #train(
    trial: Trial,
    { epochs, isFull }: { readonly epochs: number | undefined; readonly isFull: boolean },
    watch = new RunWatch(),
  ): Promise<number | undefined> {
    this.#update(trial, { status: 'running' });
    try {
      const training = trialTraining(this.#input.settings.training, trial.settings, epochs);
      const trained = await this.#runJob(isFull ? training : withoutQuantizing(training), watch);
      const { figure = 0, seconds } = watch;
      const run = { epochs: watch.epochs ?? 0, figure, seconds };
      if (isFull) await this.#keepIfBest({ trial: trial.number, run, trained });
      else await trained.remove();
      this.#update(trial, {
        status: isFull ? 'finished' : 'waiting',
        figure,
        runs: [...trial.runs, run],
        seconds: trial.seconds + seconds,
      });
      return figure;
    } catch (thrown) {
      if (this.#trials[trial.number]?.status !== 'running') throw thrown; // from a callback
      this.#recordFailure(trial, watch, thrown);
      return undefined;
    }
  }

  #recordFailure(trial: Trial, watch: RunWatch, thrown: unknown): void {
    const { training, budgetSeconds } = this.#input.settings;
    if (training.signal?.aborted) throw new AbortedError('the search', { cause: training.signal.reason });
    const isLate = this.#outOfTime.signal.aborted;
    if (trial.number === 0 && isLate) throw tooLittleTime(watch, budgetSeconds);
    if (trial.number === 0 || !isOrchardError(thrown)) throw thrown;
    const seconds = trial.seconds + watch.seconds;
    const end = isLate ? { status: 'time' as const } : { status: 'failed' as const, error: thrown.message };
    this.#update(trial, { seconds, ...end });
  }

  #runJob(training: TrainSettings, watch: RunWatch): Promise<TrainedFolder> {
    const { dataset, bases } = this.#input;
    const { type, family } = dataset.type;
    const { signal, base, onProgress } = training;
    const model = { name: nameOf(training), type, family };
    return trainInFolder(
      { dataset: dataset.dataset, model, base: base === undefined ? undefined : bases.get(base) },
      {
        ...training,
        signal: AbortSignal.any([this.#outOfTime.signal, ...(signal ? [signal] : [])]),
        onProgress: (event) => {
          watch.see(event);
          onProgress?.(event);
        },
      },
    );
  }

  /** Keeps one folder at a time; of equally good ones, the earlier. */
  async #keepIfBest(candidate: FullRun): Promise<void> {
    const before = this.#best;
    const isBetter = before === undefined || candidate.run.figure > before.run.figure;
    if (isBetter) this.#best = candidate;
    await (isBetter ? before : candidate)?.trained.remove();
  }

  async #defaultSpace(): Promise<CheckedSpace> {
    if (this.#best === undefined) throw new TrainingError('the search has no first model');
    const { training } = await readModelReport(this.#best.trained.directory);
    const { learningRate, batchSize } = training.hyperparameters;
    const defaults = {
      learningRate: Number(learningRate),
      batchSize: Number(batchSize),
      rows: training.dataset?.train_rows ?? 0,
      hasLabels: hasLabels(this.#input.dataset),
    };
    return defaultSpace(defaults, this.#input.settings.training);
  }

  #drawnTrial(space: CheckedSpace, drawn: Set<string>): Trial | undefined {
    const settings = drawSettings(space, this.#random, drawn);
    return settings && this.#newTrial(settings);
  }

  #newTrial(settings: TrialSettings): Trial {
    const trial: Trial = { number: this.#trials.length, settings, status: 'waiting', runs: [], seconds: 0 };
    this.#trials.push(trial);
    return trial;
  }

  #update(before: Trial, change: Partial<Trial>): void {
    const trial = { ...before, ...change };
    this.#trials[before.number] = trial;
    this.#input.settings.onTrial?.(trial);
  }

  #secondsLeft(): number {
    const { settings, startedAt } = this.#input;
    const { budgetSeconds = Number.POSITIVE_INFINITY } = settings;
    return budgetSeconds - (performance.now() - startedAt) / 1000;
  }
}

function trialTraining(
  training: TrainSettings,
  { labelSmoothing, tokenDropout, classWeights, adapters, freeze, ...own }: TrialSettings,
  epochs: number | undefined,
): TrainSettings {
  const tuning = {
    ...training.tuning,
    ...(labelSmoothing !== undefined && { labelSmoothing }),
    ...(tokenDropout !== undefined && { tokenDropout }),
    ...(classWeights !== undefined && { classWeights }),
    ...(adapters !== undefined && adapters !== 'none' && { adapters }),
    ...(freeze !== undefined && freeze !== 'nothing' && { freeze }),
  };
  return { ...training, ...own, tuning, epochs, trainsEncoder: true };
}

/** For a model that is only compared: 8-bit weights take most of the time of training on few rows. */
function withoutQuantizing(training: TrainSettings): TrainSettings {
  return { ...training, tuning: { ...training.tuning, quantize: false } };
}

class RunWatch {
  readonly #startedAt = performance.now();
  #plannedAt = 0;
  #epochAt = 0;
  epochs: number | undefined;
  epochsRun = 0;
  /** The metric of encoder and lexical expert together on dev, which also decides which epoch is kept. */
  figure: number | undefined;

  see(event: TrainingEvent): void {
    if (event.type === 'plan') {
      this.epochs = event.epochs;
      this.#plannedAt = performance.now();
    } else if (event.type === 'epoch') {
      this.epochsRun = event.stats.epoch;
      this.#epochAt = performance.now();
    } else if (event.type === 'blend') this.figure = event.parts.blend.value;
  }

  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }

  /** The time of the epochs alone; 0 until the first has ended. */
  get epochSeconds(): number {
    return Math.max(0, this.#epochAt - this.#plannedAt) / 1000;
  }
}

/** The expected seconds of a run, by its maximum number of epochs, estimated from a full run that has just ended. */
function costOf({ seconds, epochSeconds, epochsRun }: RunWatch): (epochs: number) => number {
  const fixed = seconds - epochSeconds;
  // A run never stops early later than the full run did.
  return (epochs) => fixed + epochSeconds * Math.min(1, epochs / Math.max(1, epochsRun));
}

function tooLittleTime({ epochs, epochsRun }: RunWatch, budget: number | undefined): TrainingError {
  const where =
    epochs === undefined ? 'while the data was read' : `after ${epochsRun} of at most ${counted(epochs, 'epoch')}`;
  return new TrainingError(
    `the time limit (\`budgetSeconds: ${budget}\`) was reached before the first trial ended, ${where}; allow more time or fewer epochs`,
  );
}

/** One in this many trials goes on: η in the paper, with its value. */
export const FACTOR = 3;
/** The lowest of three rungs trains for a ninth of the epochs. */
const MOST_RUNGS = 3;

/** The length of each rung as a share of a full run's epochs, shortest first; the last is 1. */
export function rungShares(epochs: number): readonly number[] {
  const rungs = Math.min(MOST_RUNGS, 1 + Math.floor(Math.log(Math.max(1, epochs)) / Math.log(FACTOR) + 1e-9));
  return Array.from({ length: rungs }, (_, rung) => FACTOR ** (rung + 1 - rungs));
}

export interface Step {
  /** From 1. */
  readonly trial: number;
  /** From 0. */
  readonly rung: number;
}

/**
 * Which trial of `tune` runs next: asynchronous successive halving (ASHA: Li et al. 2020, "A System for Massively Parallel
 * Hyperparameter Tuning", algorithm 2) with one worker. A rung is a length of training; of the trials that have run on a
 * rung, the best 1 / {@link FACTOR} go on to the next. The number of trials need not be known in advance, so a search can
 * end at any time.
 */
export class Halving {
  /** The outcomes on each rung, best first; equal ones in the order of their runs. */
  readonly #rungs: { readonly trial: number; readonly figure: number }[][];
  /** Trials that have left each rung. */
  readonly #gone: Set<number>[];
  #mostTrials: number;
  #begun = 0;

  constructor(rungs: number, mostTrials: number) {
    this.#rungs = Array.from({ length: rungs }, () => []);
    this.#gone = Array.from({ length: rungs }, () => new Set());
    this.#mostTrials = mostTrials;
  }

  get #top(): number {
    return this.#rungs.length - 1;
  }

  /**
   * The next run. None starts unless there is time for a full one. Just before that time runs out, the best waiting
   * trial gets its full run.
   * @param time the seconds left, and the expected seconds of a run on a rung
   * @returns what to do, or why the search ends
   */
  next(time: { readonly left: number; readonly cost: (rung: number) => number }): Step | 'no time' | 'no trials' {
    if (time.left < time.cost(this.#top)) return 'no time';
    const step = this.#promotion() ?? this.#newTrial() ?? this.#lastTraining();
    if (step === undefined) return 'no trials';
    if (step.rung === this.#top || time.left - time.cost(step.rung) >= time.cost(this.#top)) return step;
    return this.#bestWaiting() ?? { ...step, rung: this.#top };
  }

  begin({ trial, rung }: Step): void {
    this.#begun = Math.max(this.#begun, trial);
    for (const gone of this.#gone.slice(0, rung)) gone.add(trial);
  }

  /** Records the metric of a run on dev; higher is better. Not called for failed runs. */
  ended({ trial, rung }: Step, figure: number): void {
    const outcomes = this.#rungs[rung];
    outcomes?.push({ trial, figure });
    outcomes?.sort((a, b) => b.figure - a.figure);
  }

  closeToNew(): void {
    this.#mostTrials = this.#begun;
  }

  #promotion(): Step | undefined {
    for (let rung = this.#top - 1; rung >= 0; rung -= 1) {
      const outcomes = this.#rungs[rung] ?? [];
      const best = outcomes.slice(0, Math.floor(outcomes.length / FACTOR));
      const next = best.find(({ trial }) => !this.#gone[rung]?.has(trial));
      if (next !== undefined) return { trial: next.trial, rung: rung + 1 };
    }
    return undefined;
  }

  #newTrial(): Step | undefined {
    return this.#begun < this.#mostTrials ? { trial: this.#begun + 1, rung: 0 } : undefined;
  }

  /** With few trials, none may be among the best third of a rung; then the best one still gets a full run. */
  #lastTraining(): Step | undefined {
    const [finished = []] = this.#rungs.slice(-1);
    return finished.length === 0 ? this.#bestWaiting() : undefined;
  }

  /** The best waiting trial of the highest possible rung, for a full run. */
  #bestWaiting(): Step | undefined {
    for (let rung = this.#top - 1; rung >= 0; rung -= 1) {
      const next = this.#rungs[rung]?.find(({ trial }) => !this.#gone[rung]?.has(trial));
      if (next !== undefined) return { trial: next.trial, rung: this.#top };
    }
    return undefined;
  }
}
