import type { DatasetWarning } from '../datasets/index.js';
import type { Blend } from '../families/index.js';
import { type BlendFigures, hasEnded, type JobRecord } from '../jobs/index.js';
import type { TrainingRunEvent } from '../training/index.js';

export type JobChange = (job: JobRecord) => Partial<Pick<JobRecord, 'stats' | 'warnings' | 'blend'>>;

/** Writes the figures and warnings of a run into its job's record, one event after another. */
export class RunFigures {
  readonly #write: (change: (job: JobRecord) => JobRecord) => Promise<void>;
  readonly #failed: () => void;
  /** The warnings of this run, which replace those of an earlier one. */
  #warnings: readonly DatasetWarning[] = [];
  #writing: Promise<void> = Promise.resolve();
  #failure: { readonly thrown: unknown } | undefined;

  /**
   * @param write writes a change of the job.
   * @param failed is called when a write has failed, so that the run stops.
   */
  constructor(write: (change: (job: JobRecord) => JobRecord) => Promise<void>, failed: () => void) {
    this.#write = write;
    this.#failed = failed;
  }

  /** Writes what the job's record takes from an event, in the background. */
  note(event: TrainingRunEvent): void {
    const change = this.#changeBy(event);
    if (change === undefined) return;
    this.#writing = this.#writing
      .then(() => this.record(change))
      .catch((thrown: unknown) => {
        this.#failure ??= { thrown };
        this.#failed();
      });
  }

  /** The run begins again, and gives its warnings again. */
  beginAgain(): void {
    this.#warnings = [];
  }

  /** Waits for the writes so far. @throws the failure of a write, rather than how it ended the run. */
  async allWritten(): Promise<void> {
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }

  /** A job that has ended keeps the figures that it has. */
  record(change: JobChange): Promise<void> {
    return this.#write((job) => (hasEnded(job.status) ? job : { ...job, ...change(job) }));
  }

  #changeBy(event: TrainingRunEvent): JobChange | undefined {
    switch (event.type) {
      case 'plan':
        return ({ stats }) => ({ stats: { ...stats, batch_size: event.batchSize } });
      case 'epoch':
        return () => ({ stats: event.stats });
      case 'warnings': {
        const warnings = [...this.#warnings, ...event.warnings];
        this.#warnings = warnings;
        return () => ({ warnings });
      }
      case 'blend':
        return () => ({ blend: blendFigures(event.parts) });
      default:
        return undefined;
    }
  }
}

function blendFigures({ blend: { accuracy, f1, topk } }: Blend): BlendFigures {
  return {
    ...(accuracy !== undefined && { accuracy }),
    ...(f1 !== undefined && { f1 }),
    ...(topk !== undefined && { topk }),
  };
}
