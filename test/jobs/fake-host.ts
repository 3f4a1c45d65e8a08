import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AbortedError, type OrchardError } from '../../src/contract/errors.js';
import type { TrainingStats } from '../../src/contract/index.js';
import type { TrainingHost, TrainingRunEvent, TrainingRunOptions, TrainingSpec } from '../../src/training/index.js';

/** Figures after this many epochs. */
export function statsAfter(epoch: number): TrainingStats {
  return {
    batch_size: 32,
    main_eval_metric: 'accuracy',
    best_eval_metric_value: 0.9,
    epoch,
    metrics: {
      elapsed_time: Array.from({ length: epoch }, () => 1.5),
      training: { loss: Array.from({ length: epoch }, () => 0.25) },
      validation: { accuracy: Array.from({ length: epoch }, () => 0.9) },
    },
  };
}

/** A run whose course the test decides; it ends as aborted as soon as it is told to stop. */
export class FakeRun {
  readonly outcome: Promise<TrainingStats>;
  #resolve: (stats: TrainingStats) => void = () => undefined;
  #reject: (error: OrchardError) => void = () => undefined;

  constructor(
    readonly spec: TrainingSpec,
    readonly options: TrainingRunOptions,
    { obeys }: { readonly obeys: boolean },
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (!obeys) return;
    if (options.signal.aborted) this.obey();
    options.signal.addEventListener('abort', () => this.obey());
  }

  emit(event: TrainingRunEvent): void {
    this.options.onEvent(event);
  }

  progress(step: number): void {
    const figures = { epoch: 0, epochs: 2, step, steps: 100, elapsedMs: step };
    this.emit({ type: 'progress', phase: 'train', fraction: step / 100, ...figures });
  }

  /** Ends as a run does that was aborted. */
  obey(): void {
    this.fail(new AbortedError(`training job ${this.spec.id}`));
  }

  fail(error: OrchardError): void {
    this.#reject(error);
  }

  /** Leaves a finished model folder. */
  async finish(stats = statsAfter(2)): Promise<void> {
    await writeFile(join(this.spec.directory, 'model.safetensors'), 'weights');
    this.#resolve(stats);
  }
}

export class FakeHost implements TrainingHost {
  readonly runs: FakeRun[] = [];
  /** Whether runs end by themselves when they are aborted. */
  obeys = true;
  /** Most runs that were ever under way at the same time. */
  mostTogether = 0;
  #together = 0;
  #taken = 0;
  #waiting: (() => void) | undefined;

  run(spec: TrainingSpec, options: TrainingRunOptions): Promise<TrainingStats> {
    const run = new FakeRun(spec, options, this);
    this.runs.push(run);
    this.#together += 1;
    this.mostTogether = Math.max(this.mostTogether, this.#together);
    this.#waiting?.();
    return run.outcome.finally(() => {
      this.#together -= 1;
    });
  }

  /** The next run that starts, each only once. */
  async nextRun(): Promise<FakeRun> {
    for (;;) {
      const run = this.runs[this.#taken];
      if (run !== undefined) {
        this.#taken += 1;
        return run;
      }
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
  }

  async close(): Promise<void> {}
}
