import { err, ok, type Result } from 'neverthrow';
import type { TrainingStats } from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import { AbortedError, type OrchardError, toOrchardError } from '../errors.js';
import { hasEnded, type JobRecord, type JobRepository, moved, stored, toJobError } from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import type { BackboneSource, TrainingHost, TrainingRunEvent, Tuning } from '../training/index.js';
import type { JobEvents } from './job-events.js';
import { type BackboneChoice, loadBackbone } from './load-backbone.js';
import type { RunningSlot } from './running-slot.js';

/** What every run of a trainer shares. */
export interface JobRunContext {
  readonly storage: Storage;
  readonly host: TrainingHost;
  readonly jobs: JobRepository;
  readonly events: JobEvents;
  readonly slot: RunningSlot;
  readonly allowPrivateAddresses: boolean;
  readonly threads: number;
  readonly tuning: Tuning;
  readonly backbone: BackboneChoice;
}

/**
 * Why a run is stopped: its job was cancelled; the trainer closes (the job stays RUNNING and resumable); or
 * another trainer has taken the slot over (the job is that one's now).
 */
export type StopReason = 'cancel' | 'close' | 'lost';

/** One run of one job by the holder of the account's slot: from its claim to its recorded end. */
export class JobRun {
  readonly id: string;
  /** Resolves with whether the job has ended; where not, it stays RUNNING for a later run. */
  readonly done: Promise<boolean>;
  readonly #context: JobRunContext;
  readonly #controller = new AbortController();
  #stopReason: StopReason | undefined;
  #warnings: readonly DatasetWarning[] = [];
  /** Writes of figures and warnings, one after another. */
  #writing: Promise<void> = Promise.resolve();
  #writeFailure: OrchardError | undefined;

  /** Starts the run. `done` rejects with a StorageError where the job can't be claimed or its end recorded. */
  constructor(id: string, context: JobRunContext) {
    this.id = id;
    this.#context = context;
    this.done = this.#run();
  }

  /** Stops the run within two training steps; await `done`. The first reason counts, but a lost slot always does. */
  stop(reason: StopReason): void {
    if (this.#stopReason === undefined || reason === 'lost') this.#stopReason = reason;
    this.#controller.abort();
  }

  async #run(): Promise<boolean> {
    const { jobs, events } = this.#context;
    const job = await jobs.update(this.id, claimed);
    if (hasEnded(job.status)) return true; // cancelled since it was picked
    events.publishState(job);
    if (job.cancel_requested) this.stop('cancel');
    const outcome = await this.#attempt(job);
    return outcome.match(
      () => this.#end((running) => moved(running, 'READY')),
      (error) => this.#fail(error),
    );
  }

  /** Trains and publishes the model folder. Never rejects. */
  async #attempt(job: JobRecord): Promise<Result<void, OrchardError>> {
    const { storage } = this.#context;
    try {
      this.#requireGoingOn();
      // An earlier run may have published the folder and died before it could say so.
      if ((await stored(() => storage.openFolder(job.id))) !== undefined) return ok();
      const trained = await this.#train(job);
      await this.#writing;
      if (this.#writeFailure !== undefined) return err(this.#writeFailure);
      if (trained.isErr()) return err(trained.error);
      await this.#record({ stats: trained.value });
      await this.#publishFolder();
      return ok();
    } catch (thrown) {
      return err(toOrchardError(thrown, `training job ${job.id}`));
    }
  }

  async #train(job: JobRecord): Promise<Result<TrainingStats, OrchardError>> {
    const { storage, host, allowPrivateAddresses, threads, tuning } = this.#context;
    const { id, dataset_url, model_config, training_config, seed } = job;
    const directory = await stored(() => storage.stageFolder(id));
    const backbone = await this.#backbone(job);
    this.#requireGoingOn();
    // Which file: URLs may be was decided when the job was created.
    const allowFileUrls = new URL(dataset_url).protocol === 'file:';
    const spec = { id, dataset_url, model_config, training_config, seed, directory };
    return host.run(
      { ...spec, allowFileUrls, allowPrivateAddresses, threads, tuning, ...(backbone && { backbone }) },
      { signal: this.#controller.signal, onEvent: (event) => this.#onEvent(event) },
    );
  }

  async #backbone(job: JobRecord): Promise<BackboneSource | undefined> {
    if (job.training_config.use_pretrained === false) return undefined;
    return loadBackbone(this.#context.backbone, job, this.#controller.signal, (progress) =>
      this.#onEvent({ type: 'backbone', ...progress }),
    );
  }

  async #publishFolder(): Promise<void> {
    if (!(await this.#context.slot.renew())) this.stop('lost');
    // A run that is complete when the trainer closes is published all the same.
    if (this.#stopReason !== 'close') this.#requireGoingOn();
    await stored(() => this.#context.storage.publishFolder(this.id));
  }

  #requireGoingOn(): void {
    if (this.#controller.signal.aborted) throw new AbortedError(`training job ${this.id}`);
  }

  #onEvent(event: TrainingRunEvent): void {
    if (event.type === 'epoch') this.#recordSoon({ stats: event.stats });
    if (event.type === 'warnings') {
      this.#warnings = [...this.#warnings, ...event.warnings];
      this.#recordSoon({ warnings: [...this.#warnings] });
    }
    this.#context.events.publish({ ...event, id: this.id });
  }

  /** A write that fails stops the run, which then ends with that failure. */
  #recordSoon(change: Partial<Pick<JobRecord, 'stats' | 'warnings'>>): void {
    this.#writing = this.#writing
      .then(() => this.#record(change))
      .catch((thrown: unknown) => {
        this.#writeFailure ??= toOrchardError(thrown, `training job ${this.id}`);
        this.#controller.abort();
      });
  }

  async #record(change: Partial<Pick<JobRecord, 'stats' | 'warnings'>>): Promise<void> {
    await this.#context.jobs.update(this.id, (job) => (hasEnded(job.status) ? job : { ...job, ...change }));
  }

  /** Records how a run that failed or was stopped leaves its job. */
  async #fail(error: OrchardError): Promise<boolean> {
    if (!(await this.#context.slot.renew())) this.stop('lost');
    const reason = this.#stopReason;
    if (reason === 'lost' || (reason === 'close' && error.code === 'aborted')) return false;
    await this.#end((job) =>
      reason === 'cancel' ? moved(job, 'CANCELLED') : { ...moved(job, 'ERROR'), error: toJobError(error) },
    );
    // Left where this fails: the record counts, and deleteModel removes folders again.
    await this.#context.storage.removeFolder(this.id).catch(() => undefined);
    return true;
  }

  async #end(change: (job: JobRecord) => JobRecord): Promise<true> {
    this.#context.events.publishState(await this.#context.jobs.update(this.id, change));
    return true;
  }
}

/** RUNNING, unless it has ended; a job left RUNNING by an earlier run stays so. */
function claimed(job: JobRecord): JobRecord {
  if (job.status === 'CREATED') return claimed(moved(job, 'QUEUED'));
  return job.status === 'QUEUED' ? moved(job, 'RUNNING') : job;
}
