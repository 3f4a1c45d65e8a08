import type { ExecutionProvider, TrainingStats } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import type { Blend } from '../families/index.js';
import type { TrainingPhase, TrainingRunEvent } from './training-run.js';

const MIN_INTERVAL_MS = 100;

/** Rough shares of a job's time that come before its first training step and after its last. */
const SHARE_BEFORE = 0.03;
const SHARE_AFTER = 0.02;

interface StepFigures {
  /** Epochs completed. */
  readonly epoch: number;
  readonly step: number;
  readonly steps: number;
  /** Mean training loss since the epoch began. */
  readonly loss: number;
}

/** Turns what happens in a run into events. The remaining time is estimated from the steps so far. */
export class ProgressReporter {
  readonly #startedAt = performance.now();
  #training: { readonly since: number; readonly firstStep: number } | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;
  #phase: TrainingPhase = 'download';
  #figures: Partial<StepFigures> = {};

  constructor(
    private readonly onEvent: (event: TrainingRunEvent) => void,
    private epochs = 0,
  ) {}

  entered(phase: TrainingPhase): void {
    this.#phase = phase;
    this.#tell();
  }

  planned(epochs: number, batchSize: number): void {
    this.epochs = epochs;
    this.onEvent({ type: 'plan', epochs, batchSize });
  }

  warned(warnings: readonly DatasetWarning[]): void {
    if (warnings.length > 0) this.onEvent({ type: 'warnings', warnings });
  }

  computesOn(device: ExecutionProvider): void {
    this.onEvent({ type: 'device', device });
  }

  blended(parts: Blend): void {
    this.onEvent({ type: 'blend', parts });
  }

  saved(epoch: number): void {
    this.onEvent({ type: 'checkpoint', epoch });
  }

  stepped(figures: StepFigures): void {
    this.#training ??= { since: performance.now(), firstStep: figures.step };
    this.#phase = 'train';
    this.#figures = figures;
    if (performance.now() - this.#toldAt >= MIN_INTERVAL_MS) this.#tell();
  }

  /** Of a run that learns from few rows: how much of its work is done. */
  advanced(step: number, steps: number): void {
    this.#training ??= { since: this.#startedAt, firstStep: 0 };
    this.#figures = { step, steps };
    if (this.#phase !== 'train' || performance.now() - this.#toldAt >= MIN_INTERVAL_MS) this.entered('train');
  }

  evaluating(): void {
    this.entered('evaluate');
  }

  /** @param rows how many its figures are measured on @param positive the label that F1 is of, if it is of one */
  epochEnded(stats: TrainingStats, rows: number, positive?: string): void {
    this.#figures = { ...this.#figures, epoch: stats.epoch };
    this.onEvent({ type: 'epoch', stats, rows, ...(positive !== undefined && { positive }) });
  }

  #tell(): void {
    this.#toldAt = performance.now();
    const { epoch = 0, step = 0, steps = 0, loss } = this.#figures;
    const remainingMs = this.#remaining(step, steps);
    this.onEvent({
      type: 'progress',
      phase: this.#phase,
      fraction: this.#fraction(step, steps),
      epoch,
      epochs: this.epochs,
      step,
      steps,
      ...(loss !== undefined && { loss }),
      elapsedMs: this.#toldAt - this.#startedAt,
      ...(remainingMs !== undefined && { remainingMs }),
    });
  }

  #fraction(step: number, steps: number): number {
    if (this.#phase === 'export') return 1 - SHARE_AFTER;
    if (steps === 0) return this.#phase === 'prepare' ? SHARE_BEFORE : 0;
    return SHARE_BEFORE + (1 - SHARE_BEFORE - SHARE_AFTER) * (step / steps);
  }

  #remaining(step: number, steps: number): number | undefined {
    if (this.#training === undefined || step <= this.#training.firstStep) return undefined;
    const perStep = (performance.now() - this.#training.since) / (step - this.#training.firstStep);
    return perStep * (steps - step);
  }
}
