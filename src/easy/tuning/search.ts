import { AbortedError, isOrchardError, TrainingError } from '../../errors.js';
import { typeNamed } from '../../families/index.js';
import { readModelReport } from '../../model-folder/index.js';
import { Random } from '../../random.js';
import type { PlacedModel } from '../base-model.js';
import { invalid } from '../rows/index.js';
import type { PreparedDataset } from '../training/prepare-dataset.js';
import { nameOf } from '../training/prepare-dataset.js';
import { runJob, type TrainedFolder } from '../training/run-job.js';
import type { TrainSettings } from '../training/train-options.js';
import { type DefaultSettings, defaultSpace } from './default-space.js';
import { drawSettings } from './draw-settings.js';
import { Halving, type NextStep, rungShares } from './halving.js';
import { RunCost, RunWatch } from './run-watch.js';
import type { CheckedSpace } from './space.js';
import type { Trial, TrialRun, TuningSummary } from './trial.js';
import { TrialLog } from './trial-log.js';
import { inFloats, trialTraining } from './trial-training.js';
import type { TuneSettings } from './tune-options.js';

/** What a search works on. */
export interface SearchInput {
  readonly settings: TuneSettings;
  readonly dataset: PreparedDataset;
  /** The folders of what training may start from, by their names. */
  readonly bases: ReadonlyMap<string, PlacedModel>;
  /** Of `performance.now`, when the budget began to run. */
  readonly startedAt: number;
}

/** The best model of a search; its folder is the caller's to remove. */
export interface SearchOutcome {
  readonly trained: TrainedFolder;
  /** Its training. */
  readonly run: TrialRun;
  readonly tuning: Omit<TuningSummary, 'seconds'>;
}

/** How a trial is trained. */
interface RunPlan {
  /** Most epochs. Default: by the rows. */
  readonly epochs: number | undefined;
  /** Whether this is all that a trial may get. */
  readonly isFull: boolean;
}

interface BestRun {
  readonly trial: number;
  readonly run: TrialRun;
  readonly trained: TrainedFolder;
}

/** A search over settings: the defaults in full first, then trials by successive halving. */
export class Search {
  readonly #input: SearchInput;
  readonly #random: Random;
  readonly #trials: TrialLog;
  readonly #outOfTime = new AbortController();
  #best: BestRun | undefined;

  constructor(input: SearchInput) {
    this.#input = input;
    this.#trials = new TrialLog(input.settings.onTrial);
    this.#random = Random.fromSeed(input.settings.training.seed);
  }

  /** @throws what the trial with the defaults fails with, AbortedError; what a listener throws */
  async run(): Promise<SearchOutcome> {
    const left = this.#secondsLeft();
    const timer = Number.isFinite(left)
      ? setTimeout(() => this.#outOfTime.abort(), 1000 * Math.max(0, left))
      : undefined;
    try {
      const endedBy = await this.#search();
      return this.#outcome(endedBy);
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
    const { number } = this.#trials.add({});
    await this.#train(number, { epochs: settings.training.epochs, isFull: true }, watch);
    const epochs = watch.epochs ?? 1;
    const cost = new RunCost(watch);
    const space = settings.space ?? (await this.#defaultSpace());
    const shares = rungShares(epochs);
    const halving = new Halving(shares.length, settings.trials - 1);
    const drawn = new Set([JSON.stringify({})]);
    const epochsOn = (rung: number, most = epochs) => Math.max(1, Math.round(most * (shares[rung] ?? 1)));
    let isUsedUp = false;
    for (;;) {
      const left = this.#secondsLeft();
      const step: NextStep = halving.next({ left, cost: (rung) => cost.of(epochsOn(rung)) });
      if (step === 'no time') return 'time';
      if (step === 'no trials') return isUsedUp ? 'space' : 'trials';
      const trial = this.#trials.at(step.trial) ?? this.#drawnTrial(space, drawn);
      if (trial === undefined) {
        isUsedUp = true;
        halving.closeToNew();
        continue;
      }
      halving.begin(step);
      const plan = {
        epochs: epochsOn(step.rung, trial.settings.epochs),
        isFull: step.rung === shares.length - 1,
      };
      const figure = await this.#train(step.trial, plan);
      if (figure !== undefined) halving.ended(step, figure);
      if (this.#outOfTime.signal.aborted) return 'time';
    }
  }

  /** @returns the figure of the run; undefined where it failed or was stopped */
  async #train(
    number: number,
    { epochs, isFull }: RunPlan,
    watch = new RunWatch(),
  ): Promise<number | undefined> {
    const trial = this.#trials.at(number);
    if (trial === undefined) return undefined;
    this.#trials.changed(trial, { status: 'running' });
    const { runs } = trial;
    try {
      const training = trialTraining(this.#input.settings.training, trial.settings, epochs);
      const trained = await this.#runJob(isFull ? training : inFloats(training), watch);
      const { figure = 0, seconds } = watch;
      const run = { epochs: watch.epochs ?? 0, figure, seconds };
      if (isFull) await this.#keepIfBest({ trial: number, run, trained });
      else await trained.remove();
      const status = isFull ? 'finished' : 'waiting';
      this.#trials.changed(trial, { status, figure, runs: [...runs, run], seconds: trial.seconds + seconds });
      return figure;
    } catch (thrown) {
      if (this.#trials.at(number)?.status !== 'running') throw thrown; // a listener's own
      this.#failed(trial, watch, thrown);
      return undefined;
    }
  }

  /** Records a run that came to nothing. @throws what ends the whole search */
  #failed(trial: Trial, watch: RunWatch, thrown: unknown): void {
    const { training, budgetSeconds } = this.#input.settings;
    if (training.signal?.aborted) throw new AbortedError('the search', { cause: training.signal.reason });
    const isLate = this.#outOfTime.signal.aborted;
    if (trial.number === 0 && isLate) throw tooLittleTime(watch, budgetSeconds);
    if (trial.number === 0 || !isOrchardError(thrown)) throw thrown;
    const seconds = trial.seconds + watch.seconds;
    const end = isLate ? { status: 'time' as const } : { status: 'failed' as const, error: thrown.message };
    this.#trials.changed(trial, { seconds, ...end });
  }

  #runJob(training: TrainSettings, watch: RunWatch): Promise<TrainedFolder> {
    const { dataset, bases } = this.#input;
    const {
      dataset: source,
      type: { type, family },
    } = dataset;
    const { signal, base, onProgress } = training;
    const model = { name: nameOf(training), type, family };
    return runJob(
      { dataset: source, model, base: base === undefined ? undefined : bases.get(base) },
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

  /** One folder is kept at a time; with equal figures, that of the earlier run. */
  async #keepIfBest(candidate: BestRun): Promise<void> {
    const before = this.#best;
    const isBetter = before === undefined || candidate.run.figure > before.run.figure;
    if (isBetter) this.#best = candidate;
    await (isBetter ? before : candidate)?.trained.remove();
  }

  /** @throws ValidationError if the type of model has no use for a setting */
  async #defaultSpace(): Promise<CheckedSpace> {
    const { settings } = this.#input;
    return defaultSpace(await this.#defaults(), settings.training);
  }

  async #defaults(): Promise<DefaultSettings> {
    const { directory } = this.#best?.trained ?? {};
    if (directory === undefined) throw new TrainingError('the search has no first model');
    const { training } = await readModelReport(directory);
    const { learningRate, batchSize } = training.hyperparameters;
    return {
      learningRate: Number(learningRate),
      batchSize: Number(batchSize),
      rows: training.dataset?.train_rows ?? 0,
      hasLabels: hasLabels(this.#input.dataset),
    };
  }

  #drawnTrial(space: CheckedSpace, drawn: Set<string>): Trial | undefined {
    const settings = drawSettings(space, this.#random, drawn);
    return settings && this.#trials.add(settings);
  }

  #secondsLeft(): number {
    const { settings, startedAt } = this.#input;
    const { budgetSeconds = Number.POSITIVE_INFINITY } = settings;
    return budgetSeconds - (performance.now() - startedAt) / 1000;
  }

  #outcome(endedBy: TuningSummary['endedBy']): SearchOutcome {
    if (this.#best === undefined) throw new TrainingError('no trial has made a model');
    const { trial, run, trained } = this.#best;
    const trials = this.#trials.ended();
    const best = { trial, epochs: run.epochs, figure: run.figure };
    return { trained, run, tuning: { metric: metricOf(this.#input.dataset), best, trials, endedBy } };
  }
}

/** @throws ValidationError where the space has a setting that the type of model has no use for */
export function requireUseful(space: CheckedSpace | undefined, dataset: PreparedDataset): void {
  if (hasLabels(dataset)) return;
  for (const name of ['labelSmoothing', 'classWeights'] as const) {
    if (space?.[name] === undefined) continue;
    throw invalid(['space', name], `${name} has no part in ${dataset.type.type}; leave it out`);
  }
}

function hasLabels(dataset: PreparedDataset): boolean {
  return metricOf(dataset) !== 'mrr';
}

function metricOf({ type }: PreparedDataset): TuningSummary['metric'] {
  return typeNamed(type.type)?.mainMetric ?? 'mrr';
}

function tooLittleTime({ epochs, epochsRun }: RunWatch, budget: number | undefined): TrainingError {
  const where = epochs === undefined ? 'while it was read' : `after ${epochsRun} of at most ${epochs} epochs`;
  return new TrainingError(
    `the ${budget} s of budgetSeconds ended before the defaults were trained, ${where}; give more, or fewer epochs`,
  );
}
