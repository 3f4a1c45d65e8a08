import type { TrainingEvent } from '../../trainer/index.js';

/** What a training's events tell about how long its parts take, and how good its model is. */
export class RunWatch {
  readonly #startedAt = performance.now();
  #plannedAt: number | undefined;
  #epochAt: number | undefined;
  /** Most epochs, once they are known. */
  epochs: number | undefined;
  /** Epochs that were trained. */
  epochsRun = 0;
  /** What encoder and lexical expert reach together on dev: the figure that decides which epoch is kept. */
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

  /** Since it began. */
  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }

  /** Seconds of the epochs alone; 0 before the first has ended. */
  get epochSeconds(): number {
    return ((this.#epochAt ?? 0) - (this.#plannedAt ?? 0)) / 1000;
  }
}

/** How long runs take, learned from one that was as long as any is to be. */
export class RunCost {
  readonly #fixed: number;
  readonly #epochs: number;
  readonly #epochSeconds: number;

  constructor({
    seconds,
    epochSeconds,
    epochsRun,
  }: Pick<RunWatch, 'seconds' | 'epochSeconds' | 'epochsRun'>) {
    this.#fixed = seconds - epochSeconds;
    this.#epochs = epochsRun;
    this.#epochSeconds = epochSeconds;
  }

  /** Seconds that a run of at most so many epochs takes; training ends early no later than in the run that was seen. */
  of(epochs: number): number {
    return this.#fixed + this.#epochSeconds * Math.min(1, epochs / Math.max(1, this.#epochs));
  }
}
