import { randomUUID } from 'node:crypto';
import {
  AbortedError,
  type Device,
  isOrchardError,
  type OrchardError,
  type TrainingStats,
  toOrchardError,
} from '../contract/index.js';
import type { DatasetWarning } from '../datasets/index.js';
import type { Blend } from '../families/index.js';
import { isStagingLost, type Storage } from '../storage/index.js';
import {
  type BackboneSource,
  checkpointMark,
  deviceWarning,
  type EpochEnd,
  type LoaderOf,
  loadBackbone,
  type TrainingHost,
  type TrainingRunEvent,
} from '../training/index.js';
import type { JobEvents } from './job-events.js';
import type { JobLease, JobOutcome, StopReason } from './job-queue.js';
import { type BlendFigures, hasEnded, inJob, type JobRecord, moved, toJobError } from './job-record.js';
import type { JobRepository } from './job-repository.js';
import {
  claimed,
  isUnavailable,
  mayDieOfDevice,
  OwnDeaths,
  requireAttempt,
  withoutAttempt,
  withRetry,
} from './retry.js';
import type { TrainerSettings } from './trainer-options.js';

type JobChange = (
  job: JobRecord,
) => Partial<Pick<JobRecord, 'stats' | 'validation_rows' | 'positive_label' | 'warnings' | 'blend'>>;

/** Writes the figures and warnings of a run into its job's record, one event after another. */
class RunFigures {
  readonly #write: (change: (job: JobRecord) => JobRecord) => Promise<void>;
  readonly #failed: () => void;
  #warnings: readonly DatasetWarning[] = [];
  #writing: Promise<void> = Promise.resolve();
  #failure: { readonly thrown: unknown } | undefined;

  /** @param failed is called when a write has failed, so that the run stops. */
  constructor(write: (change: (job: JobRecord) => JobRecord) => Promise<void>, failed: () => void) {
    this.#write = write;
    this.#failed = failed;
  }

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

  beginAgain(): void {
    this.#warnings = [];
  }

  /** Waits for the writes so far. @throws the failure of a write, rather than how it ended the run. */
  async allWritten(): Promise<void> {
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }

  record(change: JobChange): Promise<void> {
    return this.#write((job) => (hasEnded(job.status) ? job : { ...job, ...change(job) }));
  }

  #changeBy(event: TrainingRunEvent): JobChange | undefined {
    switch (event.type) {
      case 'plan':
        return ({ stats }) => ({ stats: { ...stats, batch_size: event.batchSize } });
      case 'epoch':
        return () => epochChange(event);
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

function epochChange({ stats, rows, positive }: EpochEnd): Partial<JobRecord> {
  return {
    stats,
    ...(rows !== undefined && { validation_rows: rows }),
    ...(positive !== undefined && { positive_label: positive }),
  };
}

function blendFigures({ blend: { accuracy, f1, topk } }: Blend): BlendFigures {
  return {
    ...(accuracy !== undefined && { accuracy }),
    ...(f1 !== undefined && { f1 }),
    ...(topk !== undefined && { topk }),
  };
}

export interface JobRunContext {
  readonly storage: Storage;
  readonly host: TrainingHost;
  readonly jobs: JobRepository;
  readonly events: JobEvents;
  readonly settings: TrainerSettings;
  readonly loaderOf: LoaderOf;
}

interface Begun {
  readonly job: JobRecord;
  /** Whether an earlier run published its folder and died before it could say so. */
  readonly isPublished: boolean;
  /** The staged folder, where an earlier run left one. */
  readonly directory: string | undefined;
}

/**
 * One run of one job by the holder of its lease: from its claim to its recorded end. It writes only while it is the run
 * that claimed the job last ({@link JobClaim}).
 */
export class JobRun {
  readonly #id: string;
  readonly #lease: JobLease;
  readonly #context: JobRunContext;
  readonly #claim: JobClaim;
  readonly #figures: RunFigures;
  readonly #saves: StagedSaves;
  readonly #controller = new AbortController();
  #deaths: OwnDeaths | undefined;
  #isCancelled = false;
  #hasTriedToPublish = false;

  constructor(lease: JobLease, context: JobRunContext) {
    this.#id = lease.id;
    this.#lease = lease;
    this.#context = context;
    this.#claim = new JobClaim(context.jobs, lease.id);
    const write = async (change: (job: JobRecord) => JobRecord) => {
      await this.#withRetry(() => this.#claim.update(change));
    };
    this.#figures = new RunFigures(write, () => this.#controller.abort());
    this.#saves = new StagedSaves(context.storage, lease.id, () => this.#controller.abort());
    const stop = () => this.#controller.abort(this.#stopReason);
    if (lease.signal.aborted) stop();
    lease.signal.addEventListener('abort', stop, { once: true });
  }

  /** @throws StorageError if the job can't be claimed or its end recorded; another run makes up for that. */
  async run(): Promise<JobOutcome> {
    const { events } = this.#context;
    const begun = await this.#begin();
    if (typeof begun === 'string') return begun;
    const { job, isPublished, directory } = begun;
    events.publishState(job);
    this.#isCancelled = job.cancel_requested ?? false;
    try {
      this.#requireGoingOn();
      if (!isPublished) await this.#train(job, directory);
    } catch (thrown) {
      return this.#fail(toOrchardError(thrown, `training job ${job.id}`));
    }
    const ready = await this.#end((running) => moved(running, 'READY'));
    if (ready === undefined) return 'left';
    events.publishState(ready);
    return 'ended';
  }

  /** Claims the job. @returns an outcome for the queue if there is nothing to run, or not for this run. */
  async #begin(): Promise<Begun | JobOutcome> {
    const { jobs, storage } = this.#context;
    let directory: string | undefined;
    for (;;) {
      const found = await jobs.find(this.#id);
      if (found === undefined) return 'ended'; // deleted since it was queued
      if (hasEnded(found.status)) {
        if (directory !== undefined) await storage.discardStaged(this.#id).catch(() => undefined);
        // The run that recorded the end may have been killed before it removed the folder.
        if (found.status === 'ERROR' || found.status === 'CANCELLED') await this.#removeFolder();
        return 'ended';
      }
      // Renewed after the job was found: a later holder of the lease changes the claim that was found.
      if (!(await this.#lease.renew())) return 'left';
      const isPublished = found.status === 'RUNNING' && (await this.#isPublished());
      if (found.status === 'RUNNING' && !isPublished) directory = await this.#stage();
      const checkpoint = directory === undefined ? null : await checkpointMark(directory);
      const job = await this.#claim.take(found, checkpoint).catch(unlessGone);
      if (job !== undefined) return { job, isPublished, directory };
    }
  }

  async #isPublished(): Promise<boolean> {
    return (await this.#context.storage.openFolder(this.#id)) !== undefined;
  }

  #stage(): Promise<string> {
    return this.#context.storage.stageFolder(this.#id);
  }

  /** Trains and publishes the model folder. @param staged the directory, if it is staged already. */
  async #train(job: JobRecord, staged: string | undefined): Promise<void> {
    const { host, settings } = this.#context;
    requireAttempt(job);
    const directory = staged ?? (await this.#stage());
    const backbone = await this.#backbone(job);
    await this.#claim.require();
    this.#requireGoingOn();
    const { id, dataset_url, model_config, training_config, seed, tuning } = job;
    const { threads, memoryLimit, checkpointIntervalMs } = settings;
    const spec = {
      ...{ id, dataset: { url: dataset_url }, model_config, training_config, seed, tuning, directory },
      ...{ threads, memoryLimit, checkpointIntervalMs, ...(backbone && { backbone }) },
      allowFileUrls: job.allow_file_url,
      allowPrivateAddresses: job.allow_private_addresses,
    };
    const { signal } = this.#controller;
    const options = { signal, onEvent: (event: TrainingRunEvent) => this.#onEvent(event) };
    const run = (device: Device) => host.run({ ...spec, device }, options).finally(() => this.#figures.allWritten());
    this.#deaths = new OwnDeaths(id, await checkpointMark(directory));
    const stats = await this.#saves.during(() => this.#attempts(run, this.#deviceOf(job), directory));
    await this.#figures.record(() => ({ stats }));
    await this.#withRetry(() => this.#publish());
  }

  /** Runs on the CPU if the device fails, and again if the run's own process dies. */
  async #attempts(
    run: (device: Device) => Promise<TrainingStats>,
    device: Device,
    directory: string,
  ): Promise<TrainingStats> {
    try {
      return await run(device);
    } catch (thrown) {
      if (device !== 'cpu' && isOrchardError(thrown) && thrown.code === 'device') {
        await this.#loseDevice(thrown.message, directory);
        return this.#attempts(run, 'cpu', directory);
      }
      this.#deaths?.add(thrown, await checkpointMark(directory));
      this.#requireGoingOn();
      this.#figures.beginAgain();
      return this.#attempts(run, device, directory);
    }
  }

  #deviceOf(job: JobRecord): Device {
    const { device } = this.#context.settings;
    if (!mayDieOfDevice(job, device)) return device;
    this.#warnOfDevice(`the process that trained with the device ${device} has died`);
    return 'cpu';
  }

  /** Ends an attempt that its device failed; the next goes on from the checkpoint. */
  async #loseDevice(reason: string, directory: string): Promise<void> {
    this.#requireGoingOn();
    const checkpoint = await checkpointMark(directory);
    await this.#withRetry(() => this.#claim.update((job) => claimed(job, checkpoint)));
    this.#figures.beginAgain();
    this.#warnOfDevice(reason);
  }

  #warnOfDevice(reason: string): void {
    this.#onEvent({ type: 'warnings', warnings: [deviceWarning(reason)] });
  }

  /** Publishes what is staged, unless an earlier attempt without a response did so. */
  async #publish(): Promise<void> {
    await this.#lease.renew();
    // A run that is complete when the trainer closes is published all the same.
    if (this.#stopReason !== 'closing') this.#requireGoingOn();
    await this.#claim.require();
    if (this.#hasTriedToPublish && (await this.#isPublished())) return;
    this.#hasTriedToPublish = true;
    await this.#context.storage.publishFolder(this.#id);
  }

  async #backbone(job: JobRecord): Promise<BackboneSource | undefined> {
    if (job.training_config.use_pretrained === false) return undefined;
    return loadBackbone(this.#context.loaderOf, job.backbone, job, this.#controller.signal, (progress) =>
      this.#onEvent({ type: 'backbone', ...progress }),
    );
  }

  get #stopReason(): StopReason | undefined {
    const { stopReason } = this.#lease;
    if (this.#claim.isLost || stopReason === 'lost') return 'lost';
    return this.#isCancelled ? 'cancelled' : stopReason;
  }

  #requireGoingOn(): void {
    if (this.#isCancelled || this.#controller.signal.aborted) {
      throw new AbortedError(`training job ${this.#id}`);
    }
  }

  #onEvent(reported: TrainingRunEvent): void {
    const event = namedForJobs(reported);
    this.#figures.note(event);
    if (event.type === 'progress') this.#deaths?.note(event.phase);
    if (event.type === 'checkpoint') this.#saves.note();
    this.#context.events.publish({ ...event, id: this.#id });
  }

  #withRetry<T>(work: () => Promise<T>): Promise<T> {
    return withRetry(work, this.#controller.signal);
  }

  async #fail(error: OrchardError): Promise<JobOutcome> {
    await this.#lease.renew();
    const reason = this.#stopReason;
    if (reason === 'lost' || (reason === 'closing' && error.code === 'aborted')) return this.#leave();
    // A run that came back late staged the folder before it saw that the job is no longer its own.
    if (reason !== 'cancelled' && isStagingLost(error)) return this.#leave();
    if (reason !== 'cancelled' && isUnavailable(error)) {
      await this.#leave();
      throw error; // not the job's fault: another run goes on with it
    }
    const change = (job: JobRecord) =>
      reason === 'cancelled' ? moved(job, 'CANCELLED') : { ...moved(job, 'ERROR'), error: toJobError(error) };
    const ended = await this.#end(change).catch(() => this.#endWithoutFolder(change));
    if (ended === undefined) return 'left';
    // Only now, as no run starts again. If this fails, the folder stays until the model is deleted.
    await this.#removeFolder();
    this.#context.events.publishState(ended);
    return 'ended';
  }

  /** Records the end of the job. @returns undefined if another run has claimed it. @throws StorageError */
  async #end(change: (job: JobRecord) => JobRecord): Promise<JobRecord | undefined> {
    // The end may be recorded already, by a write whose response got lost.
    const write = () => this.#claim.update((job) => (hasEnded(job.status) ? job : change(job)));
    return this.#withRetry(write).catch((thrown: unknown) => {
      if (this.#claim.isLost) return undefined;
      throw thrown;
    });
  }

  /** If the end can't be recorded, the job's own files may be what fills the storage. */
  async #endWithoutFolder(change: (job: JobRecord) => JobRecord): Promise<JobRecord | undefined> {
    await this.#claim.require();
    await this.#removeFolder();
    return this.#end(change);
  }

  async #removeFolder(): Promise<void> {
    await this.#context.storage.removeFolder(this.#id).catch(() => undefined);
  }

  async #leave(): Promise<JobOutcome> {
    await this.#claim.update(withoutAttempt).catch(() => undefined);
    return 'left';
  }
}

function namedForJobs(event: TrainingRunEvent): TrainingRunEvent {
  if (event.type !== 'warnings') return event;
  return { ...event, warnings: event.warnings.map((each) => ({ ...each, message: inJob(each.message) })) };
}

/** There is nothing to run if the job's record was removed. */
function unlessGone(thrown: unknown): undefined {
  if (!isOrchardError(thrown) || thrown.code !== 'not_found') throw thrown;
}

/**
 * One run's right to write a job's record. The record has the token of the run that claimed it last; every write of a
 * run requires its own token there. So a run that lost its lease and comes back later, at any point, changes nothing.
 */
class JobClaim {
  readonly #jobs: JobRepository;
  readonly #id: string;
  readonly #token = randomUUID();
  #isLost = false;

  constructor(jobs: JobRepository, id: string) {
    this.#jobs = jobs;
    this.#id = id;
  }

  /** Whether another run was seen to have claimed the job, or the job to have ended otherwise than by this run. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Claims a job, unless it was claimed or has ended since it was found. Only for a run that held the lease *after* it
   * found the job: the claim of a successor then shows as a change.
   * @param checkpoint the mark of the checkpoint that this run begins with.
   * @returns the claimed job; undefined if it changed since it was found. @throws NotFoundError, StorageError
   */
  async take(found: JobRecord, checkpoint: string | null): Promise<JobRecord | undefined> {
    const job = await this.#jobs.update(this.#id, (now) =>
      now.claim === found.claim && !hasEnded(now.status) ? { ...claimed(now, checkpoint), claim: this.#token } : now,
    );
    return job.claim === this.#token ? job : undefined;
  }

  /** Writes what `change` returns for the job. @throws AbortedError if the claim is lost, NotFoundError, StorageError */
  update(change: (job: JobRecord) => JobRecord): Promise<JobRecord> {
    return this.#jobs.update(this.#id, (job) => {
      this.#check(job);
      return change(job);
    });
  }

  /** @throws AbortedError if the claim is lost, NotFoundError, StorageError */
  async require(): Promise<void> {
    this.#check(await this.#jobs.get(this.#id));
  }

  #check({ claim }: JobRecord): void {
    if (claim === this.#token) return;
    this.#isLost = true;
    throw new AbortedError(`training job ${this.#id}`);
  }
}

/**
 * Saves what a run has staged after each of its checkpoints, if other machines can't see what the storage stages. One
 * save at a time; after a save that fails, the next one saves everything.
 */
class StagedSaves {
  readonly #save: () => Promise<void>;
  readonly #lost: () => void;
  #saving: Promise<void> | undefined;
  #isStale = false;
  #failure: { readonly thrown: unknown } | undefined;

  constructor(storage: Storage, id: string, lost: () => void) {
    this.#save = async () => storage.saveStaged?.(id);
    this.#lost = lost;
  }

  note(): void {
    this.#isStale = true;
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = undefined;
    });
  }

  /**
   * Does a run, and waits for the saves of one that stops. One that is complete has no checkpoint any more.
   * @throws an error that StagingLost is the cause of, if another run has taken over
   */
  during<T>(run: () => Promise<T>): Promise<T> {
    const running = run().then((result) => {
      this.#isStale = false;
      return result;
    });
    return running.finally(() => this.#allSaved());
  }

  async #allSaved(): Promise<void> {
    await this.#saving;
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }

  async #saveAll(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      await this.#save().catch((thrown: unknown) => {
        if (!isStagingLost(thrown)) return;
        this.#failure ??= { thrown };
        this.#lost();
      });
    }
  }
}
