import { type CompiledGraph, type CompileOptions, type GraphExecutor, sizesOf, type TensorData } from './executor.js';
import type { Graph } from './graph.js';
import { onnxExecutor } from './onnx/onnx-executor.js';

/** How much of the processors a run uses: `narrow`, one thread or threads that sleep while they wait; or all allowed. */
export type Width = 'narrow' | 'wide';

export interface TimedRun {
  /** Of its batch, in any unit that its time grows with; above 0. */
  readonly size: number;
  /** A run of 0 ms is ignored. */
  readonly ms: number;
  /** Time to switch to the run's width. Default 0. */
  readonly switchMs?: number;
}

export interface ThreadChoiceOptions {
  /** Width of the first runs. */
  readonly first: Width;
  /** `wide` is taken if a run then takes less than this share of its time as `narrow`. */
  readonly toWide: number;
  /** `narrow` is taken if a run then takes less than this share of its time as `wide`. */
  readonly toNarrow: number;
}

/** Runs before the first trial, and before one for a reason. */
const LEAST_RUNS = 4;
/** Fewest runs between two trials, and before the first one if another choice's finding is followed. */
const RUNS_BETWEEN = 64;
const RUNS_FOLLOWED = 200;
/** The share of the time that trials may cost. */
const TRIAL_SHARE = 0.015;
/** This many runs in a row that are slower, or faster, than expected by these factors are a reason for a trial. */
const CHANGED_RUNS = 3;
const SLOWER = 1.25;
const FASTER = 0.8;
/** The further share of the time that trials for this reason may cost. */
const CHANGE_SHARE = 0.03;
/** A trial ends early if two of its runs take longer than expected by this factor. */
const WORSE = 1.3;
/** Otherwise it takes this many runs after the first, and more if they are short. Their median decides. */
const TRIAL_RUNS = 3;
const TRIAL_MS = 150;
const MOST_TRIAL_RUNS = 9;
/** A trial's run counts as at most this many lost runs: longer delays have another cause. */
const MOST_LOST = 2;

interface Trial {
  readonly hasReason: boolean;
  readonly runs: TimedRun[];
}

/**
 * Decides how much of the processors runs use, from the times of earlier runs with either width: while other processes use
 * the CPU, threads wait for each other, so that fewer or sleeping ones may be faster; small runs are often faster with one
 * thread in any case. The other width is tried from time to time, and soon after runs have become slower or faster; the
 * more a trial has cost, the later it is repeated.
 */
export class ThreadChoice {
  readonly #options: ThreadChoiceOptions;
  #chosen: Width;
  #expected = new ExpectedTime();
  #newest: TimedRun[] = [];
  /** Whether the next run is the first after a change. */
  #isCold = true;
  #trial: Trial | undefined;
  #decisions = 0;
  /** Since the last trial. */
  #runs = 0;
  #leastRuns = LEAST_RUNS;
  /** Newest runs in a row that were slower than expected, and faster. */
  #slower = 0;
  #faster = 0;
  #hasChanged = false;
  /** Milliseconds of runs that must pass before a trial pays, and before one for a reason does. */
  #waitMs = 0;
  #reasonWaitMs = 0;

  constructor(options: ThreadChoiceOptions) {
    this.#options = options;
    this.#chosen = options.first;
  }

  get width(): Width {
    return this.#trial === undefined ? this.#chosen : other(this.#chosen);
  }

  get chosen(): Width {
    return this.#chosen;
  }

  get decisions(): number {
    return this.#decisions;
  }

  /** Takes over what was found for other runs on the same machine, until there was a trial of its own. */
  follow(width: Width): void {
    if (this.#decisions > 0 || this.#trial !== undefined) return;
    if (width !== this.#chosen) this.#choose(width);
    this.#leastRuns = RUNS_FOLLOWED;
  }

  /** Learns from a run that had {@link ThreadChoice.width}, and decides on that of the next. */
  learn(run: TimedRun): void {
    if (!(run.ms > 0)) return;
    if (this.#trial !== undefined) this.#try(this.#trial, run);
    else if (this.#isCold) this.#warmUp(run);
    else this.#observe(run);
  }

  #warmUp(run: TimedRun): void {
    this.#isCold = false;
    this.#lose(run, this.#expected.of(run.size) ?? run.ms);
  }

  #observe(run: TimedRun): void {
    const { size, ms } = run;
    const expected = this.#expected.of(size) ?? ms;
    this.#expected.add(size, ms);
    this.#newest = [...this.#newest, run].slice(-CHANGED_RUNS);
    this.#slower = ms > SLOWER * expected ? this.#slower + 1 : 0;
    this.#faster = ms < FASTER * expected ? this.#faster + 1 : 0;
    if (this.#slower === CHANGED_RUNS || this.#faster === CHANGED_RUNS) this.#change();
    this.#runs += 1;
    this.#waitMs -= ms;
    this.#reasonWaitMs -= ms;
    const isTime = this.#runs >= this.#leastRuns && this.#waitMs <= 0;
    const hasReason = this.#hasChanged && this.#runs >= LEAST_RUNS && this.#reasonWaitMs <= 0;
    if (!isTime && !hasReason) return;
    this.#trial = { hasReason: !isTime, runs: [] };
    this.#waitMs = 0;
  }

  /** Something else happens on the machine than before: only the newest runs say what to expect. */
  #change(): void {
    this.#hasChanged = true;
    this.#slower = 0;
    this.#faster = 0;
    this.#expect(this.#newest);
  }

  #try(trial: Trial, run: TimedRun): void {
    this.#lose(run, this.#expected.of(run.size) ?? run.ms, trial.hasReason);
    trial.runs.push(run);
    const all = this.#ratiosOf(trial.runs);
    // In the first one, the runtime lays out its memory.
    const runs = trial.runs.slice(1);
    const passed = runs.reduce((sum, { ms }) => sum + ms, 0);
    const isLong = runs.length >= TRIAL_RUNS && (passed >= TRIAL_MS || runs.length >= MOST_TRIAL_RUNS);
    const { toWide, toNarrow } = this.#options;
    const limit = this.#chosen === 'narrow' ? toWide : toNarrow;
    if (all.filter((ratio) => ratio > WORSE).length > 1) this.#end(trial, false);
    else if (isLong) this.#end(trial, median(all.slice(1)) < limit);
  }

  /** What runs took, as a share of what they would have taken with the chosen width. */
  #ratiosOf(runs: readonly TimedRun[]): number[] {
    return runs.map(({ size, ms }) => ms / (this.#expected.of(size) ?? ms));
  }

  /** Counts what a run took longer than one of the chosen width would have. */
  #lose({ ms, switchMs = 0 }: TimedRun, expected: number, hasReason = false): void {
    const lost = switchMs + Math.min(Math.max(0, ms - expected), MOST_LOST * expected);
    this.#waitMs += lost / TRIAL_SHARE;
    if (hasReason) this.#reasonWaitMs = Math.max(0, this.#reasonWaitMs) + lost / CHANGE_SHARE;
  }

  #end({ runs }: Trial, isBetter: boolean): void {
    this.#trial = undefined;
    this.#decisions += 1;
    this.#leastRuns = RUNS_BETWEEN;
    if (isBetter) this.#choose(other(this.#chosen), runs.slice(1));
    else this.#restart(true);
  }

  #choose(width: Width, runs: readonly TimedRun[] = []): void {
    this.#chosen = width;
    this.#expect(runs);
    this.#restart(runs.length === 0);
  }

  #restart(isCold: boolean): void {
    this.#isCold = isCold;
    this.#runs = 0;
    this.#slower = 0;
    this.#faster = 0;
    this.#hasChanged = false;
  }

  #expect(runs: readonly TimedRun[]): void {
    this.#expected = new ExpectedTime();
    for (const { size, ms } of runs) this.#expected.add(size, ms);
  }
}

const other = (width: Width): Width => (width === 'wide' ? 'narrow' : 'wide');

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Weight of a run after each further one: about the last ten count. */
const KEPT = 0.9;
/** Sizes whose variance is less than this share of their mean's square don't tell what starting a run costs. */
const LEAST_VARIANCE = 0.01;
/** A run counts as at most this many times its expected time: something else may have delayed it. */
const MOST_HELD_UP = 1.5;

/** How long runs take now, by their size: start + size · rate, fitted to the newest runs by least squares of ms / size. */
class ExpectedTime {
  /** Sums over runs: of 1, 1 / size, 1 / size², ms / size and ms / size². */
  #ones = 0;
  #inverses = 0;
  #squares = 0;
  #rates = 0;
  #products = 0;

  /** In milliseconds; undefined as long as nothing is known. */
  of(size: number): number | undefined {
    if (this.#ones === 0) return undefined;
    const spread = this.#ones * this.#squares - this.#inverses ** 2;
    if (spread > LEAST_VARIANCE * this.#inverses ** 2) {
      const start = (this.#ones * this.#products - this.#inverses * this.#rates) / spread;
      const rate = (this.#rates - start * this.#inverses) / this.#ones;
      if (rate > 0 && start >= 0) return start + rate * size;
    }
    return (this.#rates / this.#ones) * size;
  }

  /** @param size above 0. @param ms above 0. */
  add(size: number, ms: number): void {
    const inverse = 1 / size;
    const rate = Math.min(ms, MOST_HELD_UP * (this.of(size) ?? ms)) / size;
    this.#ones = KEPT * this.#ones + 1;
    this.#inverses = KEPT * this.#inverses + inverse;
    this.#squares = KEPT * this.#squares + inverse ** 2;
    this.#rates = KEPT * this.#rates + rate;
    this.#products = KEPT * this.#products + rate * inverse;
  }
}

/** ONNX Runtime on the CPU with this many threads, which sleep while they wait where that is faster now. */
export function cpuExecutor(threads: number): GraphExecutor {
  const wide = onnxExecutor({ threads });
  if (threads === 1) return wide;
  return adaptiveThreads({ narrow: onnxExecutor({ threads, spinning: false }), wide });
}

/** Executors that give the same bits and differ in what they take of the processors. */
export interface AdaptiveThreadsOptions {
  /** Leaves more to others: its threads sleep while they wait for each other. */
  readonly narrow: GraphExecutor;
  /** Is faster on a machine of its own: its threads look for work while they wait. */
  readonly wide: GraphExecutor;
  /** A clock, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

/** What differs by less is left as it is: a change takes its time, too. */
const CHOICE: ThreadChoiceOptions = { first: 'wide', toWide: 0.97, toNarrow: 0.97 };

/**
 * Runs each graph by one of two executors, whichever is faster now ({@link ThreadChoice}): on a machine that others keep
 * busy, threads that look for work take the processors from those that have some. A graph is held by one executor at a
 * time, so that neither its fixed weights nor the memory of its largest run are there twice; it is compiled again for a
 * change, and what that takes counts as a cost of the change.
 */
export function adaptiveThreads({
  narrow,
  wide,
  now = () => performance.now(),
}: AdaptiveThreadsOptions): GraphExecutor {
  const executors = { narrow, wide };
  const found: Found = { width: undefined };
  return {
    specificationVersion: 1,
    ...(wide.quantizes !== undefined && { quantizes: wide.quantizes }),
    async compile(graph, options) {
      const { width = CHOICE.first } = found;
      const compiled = await executors[width].compile(graph, options);
      return new AdaptiveGraph({ graph, options, executors, found, now }, compiled, width);
    },
  };
}

/** What the trials of an executor's graphs led to last: graphs that run seldom go by the others. */
interface Found {
  width: Width | undefined;
}

interface AdaptiveParts {
  readonly graph: Graph;
  readonly options: CompileOptions | undefined;
  readonly executors: Readonly<Record<Width, GraphExecutor>>;
  readonly found: Found;
  readonly now: () => number;
}

class AdaptiveGraph implements CompiledGraph {
  readonly #parts: AdaptiveParts;
  readonly #choice: ThreadChoice;
  #compiled: CompiledGraph | undefined;
  #width: Width;

  constructor(parts: AdaptiveParts, compiled: CompiledGraph, width: Width) {
    this.#parts = parts;
    this.#compiled = compiled;
    this.#width = width;
    this.#choice = new ThreadChoice({ ...CHOICE, first: width });
  }

  async run(feeds: Readonly<Record<string, TensorData>>, outputs: Readonly<Record<string, TensorData>>): Promise<void> {
    const { graph, found, now } = this.#parts;
    const choice = this.#choice;
    if (found.width !== undefined) choice.follow(found.width);
    const startedAt = now();
    const compiled = await this.#compiledFor(choice.width);
    const readyAt = now();
    await compiled.run(feeds, outputs);
    const { decisions } = choice;
    const sizes = Object.values(sizesOf(graph.inputs, feeds));
    const size = sizes.reduce((product, each) => product * Math.max(1, each), 1);
    choice.learn({ size, ms: now() - readyAt, switchMs: readyAt - startedAt });
    if (choice.decisions > decisions) found.width = choice.chosen;
  }

  async release(): Promise<void> {
    const compiled = this.#compiled;
    this.#compiled = undefined;
    await compiled?.release();
  }

  async #compiledFor(width: Width): Promise<CompiledGraph> {
    const compiled = this.#compiled;
    if (compiled === undefined) throw new Error('the compiled graph was released');
    if (width === this.#width) return compiled;
    const { graph, options, executors } = this.#parts;
    await compiled.release();
    this.#width = width;
    this.#compiled = await executors[width].compile(graph, options);
    return this.#compiled;
  }
}
