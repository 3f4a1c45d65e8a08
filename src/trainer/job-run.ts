import type { DatasetWarning } from '../datasets/index.js';
import { AbortedError, isOrchardError, type OrchardError, toOrchardError } from '../errors.js';
import type { Blend } from '../families/index.js';
import {
  type BlendFigures,
  hasEnded,
  type JobLease,
  type JobOutcome,
  type JobRecord,
  type JobRepository,
  moved,
  type StopReason,
  stored,
  toJobError,
} from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import {
  type BackboneSource,
  checkpointMark,
  type TrainingHost,
  type TrainingRunEvent,
} from '../training/index.js';
import { claimed, requireAttempt, withoutAttempt } from './attempts.js';
import type { JobEvents } from './job-events.js';
import { type LoaderOf, loadBackbone } from './load-backbone.js';
import type { TrainerSettings } from './trainer-options.js';

/** What every run of a trainer shares. */
export interface JobRunContext {
  readonly storage: Storage;
  readonly host: TrainingHost;
  readonly jobs: JobRepository;
  readonly events: JobEvents;
  /** The threads, and what jobs go by that say nothing else themselves. */
  readonly settings: TrainerSettings;
  readonly loaderOf: LoaderOf;
}

/** One run of one job by the holder of its lease: from its claim to its recorded end. */
export class JobRun {
  readonly #id: string;
  readonly #lease: JobLease;
  readonly #context: JobRunContext;
  readonly #controller = new AbortController();
  /** Whether the job's record says so; the queue may not know. */
  #isCancelled = false;
  /** Those of this run, in place of what an earlier one had told. */
  #warnings: readonly DatasetWarning[] = [];
  /** Writes of what the run tells, one after another. */
  #writing: Promise<void> = Promise.resolve();
  #writeFailure: OrchardError | undefined;

  constructor(lease: JobLease, context: JobRunContext) {
    this.#id = lease.id;
    this.#lease = lease;
    this.#context = context;
    const stop = () => this.#controller.abort(this.#stopReason);
    if (lease.signal.aborted) stop();
    lease.signal.addEventListener('abort', stop, { once: true });
  }

  /** @throws StorageError where the job can't be claimed or its end recorded; another run makes up for that. */
  async run(): Promise<JobOutcome> {
    const { jobs, events } = this.#context;
    const found = await jobs.find(this.#id);
    if (found === undefined || hasEnded(found.status)) return 'ended'; // cancelled or deleted since it was queued
    // An earlier run may have published the folder and died before it could say so.
    const isPublished = found.status === 'RUNNING' && (await this.#isPublished());
    const checkpoint = found.status === 'RUNNING' && !isPublished ? await this.#checkpoint() : null;
    const job = await jobs.update(this.#id, (job) => claimed(job, checkpoint)).catch(unlessGone);
    if (job === undefined || hasEnded(job.status)) return 'ended';
    events.publishState(job);
    this.#isCancelled = job.cancel_requested ?? false;
    try {
      this.#requireGoingOn();
      if (!isPublished) await this.#train(job);
    } catch (thrown) {
      return this.#fail(toOrchardError(thrown, `training job ${job.id}`));
    }
    events.publishState(await jobs.update(job.id, (running) => moved(running, 'READY')));
    return 'ended';
  }

  async #isPublished(): Promise<boolean> {
    return (await stored(() => this.#context.storage.openFolder(this.#id))) !== undefined;
  }

  async #checkpoint(): Promise<string | null> {
    return checkpointMark(await stored(() => this.#context.storage.stageFolder(this.#id)));
  }

  /** Trains and publishes the model folder. */
  async #train(job: JobRecord): Promise<void> {
    const { storage, host, settings } = this.#context;
    const { id, dataset_url, model_config, training_config, seed } = job;
    requireAttempt(job);
    const directory = await stored(() => storage.stageFolder(id));
    const backbone = await this.#backbone(job);
    this.#requireGoingOn();
    const spec = {
      ...{ id, dataset_url, model_config, training_config, seed, directory },
      ...{ threads: settings.threads, memoryLimit: settings.memoryLimit },
      allowFileUrls: job.allow_file_url ?? settings.allowFileUrls,
      allowPrivateAddresses: job.allow_private_addresses ?? settings.allowPrivateAddresses,
      tuning: job.tuning ?? settings.tuning,
      checkpointIntervalMs: settings.checkpointIntervalMs,
      ...(backbone && { backbone }),
    };
    const onEvent = (event: TrainingRunEvent) => this.#onEvent(event);
    const stats = await host
      .run(spec, { signal: this.#controller.signal, onEvent })
      .finally(() => this.#allWritten());
    await this.#record(() => ({ stats }));
    await this.#lease.renew();
    // A run that is complete when the trainer closes is published all the same.
    if (this.#stopReason !== 'closing') this.#requireGoingOn();
    await stored(() => storage.publishFolder(id));
  }

  async #backbone(job: JobRecord): Promise<BackboneSource | undefined> {
    const { loaderOf, settings } = this.#context;
    const { training_config, backbone: name = settings.backbone } = job;
    if (training_config.use_pretrained === false) return undefined;
    return loadBackbone(loaderOf, name, job, this.#controller.signal, (progress) =>
      this.#onEvent({ type: 'backbone', ...progress }),
    );
  }

  get #stopReason(): StopReason | undefined {
    const { stopReason } = this.#lease;
    return stopReason !== 'lost' && this.#isCancelled ? 'cancelled' : stopReason;
  }

  #requireGoingOn(): void {
    if (this.#isCancelled || this.#controller.signal.aborted) {
      throw new AbortedError(`training job ${this.#id}`);
    }
  }

  #onEvent(event: TrainingRunEvent): void {
    const change = this.#changeBy(event);
    if (change !== undefined) this.#recordSoon(change);
    this.#context.events.publish({ ...event, id: this.#id });
  }

  /** What the job's record takes from an event. */
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

  /** A write that fails stops the run, which then ends with that failure. */
  #recordSoon(change: JobChange): void {
    this.#writing = this.#writing
      .then(() => this.#record(change))
      .catch((thrown: unknown) => {
        this.#writeFailure ??= toOrchardError(thrown, `training job ${this.#id}`);
        this.#controller.abort();
      });
  }

  /** Waits for the writes so far. @throws the failure of one, which comes before what it made of the run. */
  async #allWritten(): Promise<void> {
    await this.#writing;
    if (this.#writeFailure !== undefined) throw this.#writeFailure;
  }

  async #record(change: JobChange): Promise<void> {
    await this.#context.jobs.update(this.#id, (job) =>
      hasEnded(job.status) ? job : { ...job, ...change(job) },
    );
  }

  /** Records how a run that failed or was stopped leaves its job. */
  async #fail(error: OrchardError): Promise<JobOutcome> {
    const { jobs, events } = this.#context;
    await this.#lease.renew();
    const reason = this.#stopReason;
    if (reason === 'lost' || (reason === 'closing' && error.code === 'aborted')) return this.#leave();
    // First of all, as it may be what fills the disk.
    const isRemoved = await this.#removeFolder();
    const ended = await jobs.update(this.#id, (job) =>
      reason === 'cancelled' ? moved(job, 'CANCELLED') : { ...moved(job, 'ERROR'), error: toJobError(error) },
    );
    // Left where this fails again: the record counts, and deleteModel removes folders again.
    if (!isRemoved) await this.#removeFolder();
    events.publishState(ended);
    return 'ended';
  }

  async #removeFolder(): Promise<boolean> {
    return this.#context.storage.removeFolder(this.#id).then(
      () => true,
      () => false,
    );
  }

  /** The job stays RUNNING, for another run. */
  async #leave(): Promise<JobOutcome> {
    await this.#context.jobs.update(this.#id, withoutAttempt).catch(() => undefined);
    return 'left';
  }
}

/** A job whose record somebody removed is none to run. */
function unlessGone(thrown: unknown): undefined {
  if (!isOrchardError(thrown) || thrown.code !== 'not_found') throw thrown;
}

function blendFigures({ blend: { accuracy, f1, topk } }: Blend): BlendFigures {
  return {
    ...(accuracy !== undefined && { accuracy }),
    ...(f1 !== undefined && { f1 }),
    ...(topk !== undefined && { topk }),
  };
}

type JobChange = (job: JobRecord) => Partial<Pick<JobRecord, 'stats' | 'warnings' | 'blend'>>;
