import type { Batch, BatchAnswer, Lane } from './lane.js';

/** Weight of the newest batch in what a model is thought to take. */
const NEWEST = 0.2;
/** What loading a model is thought to take before it was seen, in milliseconds. */
const LOAD_MS = 100;

/** Lost time counts half after so many milliseconds: only what is lost all the time is worth another copy. */
const FORGETTING_MS = 3000;

/** What is known of a model by running it. */
export class ModelFigures {
  loadMs = LOAD_MS;
  texts = 0;
  textMs = 0;
  /** Milliseconds a unit of work, lately; 0 before the first batch. */
  workMs = 0;
  #lostMs = 0;
  #lostAt = 0;

  /** Milliseconds for which idle lanes were of no use lately since they have not loaded the model. */
  get lostMs(): number {
    return this.#lostMs * 2 ** ((this.#lostAt - performance.now()) / FORGETTING_MS);
  }

  lose(ms: number): void {
    this.#lostMs = this.lostMs + ms;
    this.#lostAt = performance.now();
  }

  forgive(): void {
    this.#lostMs = 0;
  }

  add({ times }: BatchAnswer, texts: number, work: number): void {
    const elapsedMs = times.tokenize + times.run + times.decode;
    if (times.load > 0) this.loadMs = times.load;
    const mean = (known: number, seen: number) => (known === 0 ? seen : known + NEWEST * (seen - known));
    this.workMs = mean(this.workMs, elapsedMs / work);
    this.textMs = mean(this.textMs, elapsedMs / texts);
    this.texts += texts;
  }
}

/** A lane, what it works on, and the models that it was asked for. */
export class LaneState {
  readonly models = new Set<string>();
  /** Texts that it works on. */
  running = 0;
  isBusy = false;
  #lastId = 0;

  constructor(readonly lane: Lane) {}

  /** Loads a model that another lane has; while it does so, it is busy. */
  async load(directory: string): Promise<void> {
    this.isBusy = true;
    try {
      await this.lane.load(directory);
      this.models.add(directory);
    } finally {
      this.isBusy = false;
    }
  }

  /** @param started is told the batch's id before the lane answers. */
  async run(batch: Omit<Batch, 'id'>, started: (id: number) => void): Promise<BatchAnswer> {
    this.#lastId += 1;
    this.isBusy = true;
    this.running = batch.texts.length;
    this.models.add(batch.directory);
    started(this.#lastId);
    try {
      return await this.lane.run({ id: this.#lastId, ...batch });
    } finally {
      this.isBusy = false;
      this.running = 0;
    }
  }
}

/**
 * Which lanes run which model. A model stays on the lane that has loaded it, so that every model needs its memory
 * once; it is loaded by another one only when the time lost by waiting comes to what loading takes, as with renting
 * skis before buying them.
 */
export class LanePool {
  readonly lanes: readonly LaneState[];
  readonly #figures = new Map<string, ModelFigures>();

  constructor(lanes: readonly Lane[]) {
    this.lanes = lanes.map((lane) => new LaneState(lane));
  }

  get idle(): LaneState[] {
    return this.lanes.filter(({ isBusy }) => !isBusy);
  }

  figuresOf(directory: string): ModelFigures {
    const known = this.#figures.get(directory);
    if (known !== undefined) return known;
    const figures = new ModelFigures();
    this.#figures.set(directory, figures);
    return figures;
  }

  get figures(): ReadonlyMap<string, ModelFigures> {
    return this.#figures;
  }

  /** Number of lanes that have a model. */
  homes(directory: string): number {
    return this.lanes.filter(({ models }) => models.has(directory)).length;
  }

  /** The idle lanes that should run a model now; none if it should wait for a busy lane that has it. */
  lanesFor(directory: string): LaneState[] {
    if (this.homes(directory) > 0) return this.idle.filter(({ models }) => models.has(directory));
    const first = leastModels(this.idle);
    return first === undefined ? [] : [first];
  }

  /** The idle lane that should load a model which others have, if one should; the time lost is then forgiven. */
  spreadTo(directory: string): LaneState | undefined {
    const figures = this.figuresOf(directory);
    if (figures.lostMs < figures.loadMs) return undefined;
    const lane = leastModels(this.idle.filter(({ models }) => !models.has(directory)));
    if (lane === undefined) return undefined;
    figures.forgive();
    return lane;
  }

  /** The lane to load a model in that nobody waits for yet. */
  homeOf(directory: string): LaneState | undefined {
    return this.lanes.find(({ models }) => models.has(directory)) ?? leastModels(this.lanes);
  }

  forget(directory: string): void {
    this.#figures.delete(directory);
    for (const { lane, models } of this.lanes) {
      models.delete(directory);
      lane.forget(directory);
    }
  }
}

function leastModels(lanes: readonly LaneState[]): LaneState | undefined {
  const [first] = lanes;
  if (first === undefined) return undefined;
  return lanes.reduce((least, lane) => (lane.models.size < least.models.size ? lane : least), first);
}
