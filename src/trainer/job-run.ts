import { setTimeout as delay } from 'node:timers/promises';
import type { Device } from '../device-names.js';
import { AbortedError, isOrchardError, type OrchardError, toOrchardError } from '../errors.js';
import {
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
import { isStagingLost, type Storage } from '../storage/index.js';
import {
  type BackboneSource,
  checkpointMark,
  deviceWarning,
  type TrainingHost,
  type TrainingRunEvent,
} from '../training/index.js';
import { claimed, mayDieOfDevice, requireAttempt, withoutAttempt } from './attempts.js';
import { JobClaim } from './job-claim.js';
import type { JobEvents } from './job-events.js';
import { type LoaderOf, loadBackbone } from './load-backbone.js';
import { RunFigures } from './run-figures.js';
import { specOf } from './spec-of.js';
import { StagedSaves } from './staged-saves.js';
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

/** How long a run waits before it asks a storage again that could not be reached. */
const UNAVAILABLE_PAUSE_MS = 1_000;

/** A job as its run claimed it. */
interface Begun {
  readonly job: JobRecord;
  /** Whether an earlier run published its folder and died before it could say so. */
  readonly isPublished: boolean;
  /** The staged folder, where an earlier run left one. */
  readonly directory: string | undefined;
}

/**
 * One run of one job by the holder of its lease: from its claim to its recorded end. Whatever it writes, it writes as
 * the run that claimed the job last ({@link JobClaim}), or not at all.
 */
export class JobRun {
  readonly #id: string;
  readonly #lease: JobLease;
  readonly #context: JobRunContext;
  readonly #claim: JobClaim;
  readonly #figures: RunFigures;
  readonly #saves: StagedSaves;
  readonly #controller = new AbortController();
  /** Whether the job's record says so; the queue may not know. */
  #isCancelled = false;
  #hasTriedToPublish = false;

  constructor(lease: JobLease, context: JobRunContext) {
    this.#id = lease.id;
    this.#lease = lease;
    this.#context = context;
    this.#claim = new JobClaim(context.jobs, lease.id);
    const write = async (change: (job: JobRecord) => JobRecord) => {
      await this.#patiently(() => this.#claim.update(change));
    };
    this.#figures = new RunFigures(write, () => this.#controller.abort());
    this.#saves = new StagedSaves(context.storage, lease.id, () => this.#controller.abort());
    const stop = () => this.#controller.abort(this.#stopReason);
    if (lease.signal.aborted) stop();
    lease.signal.addEventListener('abort', stop, { once: true });
  }

  /** @throws StorageError where the job can't be claimed or its end recorded; another run makes up for that. */
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

  /** Claims the job. @returns what becomes of it in the queue where there is nothing to run, or not for this run. */
  async #begin(): Promise<Begun | JobOutcome> {
    const { jobs, storage } = this.#context;
    let directory: string | undefined;
    for (;;) {
      const found = await jobs.find(this.#id);
      if (found === undefined) return 'ended'; // deleted since it was queued
      if (hasEnded(found.status)) {
        if (directory !== undefined) await storage.discardStaged(this.#id).catch(() => undefined);
        return this.#tidy(found);
      }
      // Asked for once the job was found: whoever is handed it from now on changes the claim that was found.
      if (!(await this.#lease.renew())) return 'left';
      const isPublished = found.status === 'RUNNING' && (await this.#isPublished());
      if (found.status === 'RUNNING' && !isPublished) directory = await this.#stage();
      const checkpoint = directory === undefined ? null : await checkpointMark(directory);
      const job = await this.#claim.take(found, checkpoint).catch(unlessGone);
      if (job !== undefined) return { job, isPublished, directory };
    }
  }

  /** What a run that was killed after it had recorded the job's end left to do. */
  async #tidy({ status }: JobRecord): Promise<JobOutcome> {
    if (status === 'ERROR' || status === 'CANCELLED') await this.#removeFolder();
    return 'ended';
  }

  async #isPublished(): Promise<boolean> {
    return (await stored(() => this.#context.storage.openFolder(this.#id))) !== undefined;
  }

  #stage(): Promise<string> {
    return stored(() => this.#context.storage.stageFolder(this.#id));
  }

  /** Trains and publishes the model folder. @param staged the directory, where it is staged already. */
  async #train(job: JobRecord, staged: string | undefined): Promise<void> {
    const { host, settings } = this.#context;
    requireAttempt(job);
    const directory = staged ?? (await this.#stage());
    const backbone = await this.#backbone(job);
    await this.#claim.require();
    this.#requireGoingOn();
    const spec = { ...specOf(job, settings), directory, ...(backbone && { backbone }) };
    const { signal } = this.#controller;
    const options = { signal, onEvent: (event: TrainingRunEvent) => this.#onEvent(event) };
    const run = (device: Device) =>
      host.run({ ...spec, device }, options).finally(() => this.#figures.allWritten());
    const stats = await this.#saves.during(() =>
      run(this.#deviceOf(job)).catch(async (thrown) => {
        await this.#loseDevice(thrown, directory);
        return run('cpu');
      }),
    );
    await this.#figures.record(() => ({ stats }));
    await this.#patiently(() => this.#publish());
  }

  #deviceOf(job: JobRecord): Device {
    const { device } = this.#context.settings;
    if (!mayDieOfDevice(job, device)) return device;
    this.#warnOfDevice(`the process that trained with the device ${device} has died`);
    return 'cpu';
  }

  /** Ends an attempt that failed by its device; the next goes on from the checkpoint. @throws `thrown` if it is otherwise */
  async #loseDevice(thrown: unknown, directory: string): Promise<void> {
    const { device } = this.#context.settings;
    if (device === 'cpu' || !isOrchardError(thrown) || thrown.code !== 'device') throw thrown;
    this.#requireGoingOn();
    const checkpoint = await checkpointMark(directory);
    await this.#patiently(() => this.#claim.update((job) => claimed(job, checkpoint)));
    this.#figures.beginAgain();
    this.#warnOfDevice(thrown.message);
  }

  #warnOfDevice(reason: string): void {
    this.#onEvent({ type: 'warnings', warnings: [deviceWarning(reason)] });
  }

  /** Publishes what is staged, unless an attempt of which nothing was heard did so. */
  async #publish(): Promise<void> {
    await this.#lease.renew();
    // A run that is complete when the trainer closes is published all the same.
    if (this.#stopReason !== 'closing') this.#requireGoingOn();
    await this.#claim.require();
    if (this.#hasTriedToPublish && (await this.#isPublished())) return;
    this.#hasTriedToPublish = true;
    await stored(() => this.#context.storage.publishFolder(this.#id));
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
    if (this.#claim.isLost || stopReason === 'lost') return 'lost';
    return this.#isCancelled ? 'cancelled' : stopReason;
  }

  #requireGoingOn(): void {
    if (this.#isCancelled || this.#controller.signal.aborted) {
      throw new AbortedError(`training job ${this.#id}`);
    }
  }

  #onEvent(event: TrainingRunEvent): void {
    this.#figures.note(event);
    if (event.type === 'checkpoint') this.#saves.note();
    this.#context.events.publish({ ...event, id: this.#id });
  }

  /** Tries again while the storage can't be reached and the lease lasts, so that a short outage costs no work. */
  async #patiently<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (thrown) {
        if (!isUnavailable(thrown) || this.#controller.signal.aborted) throw thrown;
      }
      await delay(UNAVAILABLE_PAUSE_MS);
    }
  }

  /** Records how a run that failed or was stopped leaves its job. */
  async #fail(error: OrchardError): Promise<JobOutcome> {
    await this.#lease.renew();
    const reason = this.#stopReason;
    if (reason === 'lost' || (reason === 'closing' && error.code === 'aborted')) return this.#leave();
    // A run that came back late staged the folder before it saw that the job is no longer its own.
    if (reason !== 'cancelled' && isStagingLost(error)) return this.#leave();
    if (reason !== 'cancelled' && isUnavailable(error)) {
      await this.#leave();
      throw error; // no fault of the job: another run goes on with it
    }
    const change = (job: JobRecord) =>
      reason === 'cancelled' ? moved(job, 'CANCELLED') : { ...moved(job, 'ERROR'), error: toJobError(error) };
    const ended = await this.#end(change).catch(() => this.#endWithoutFolder(change));
    if (ended === undefined) return 'left';
    // Only now that nobody runs the job again. Left where this fails: deleteModel removes folders again.
    await this.#removeFolder();
    this.#context.events.publishState(ended);
    return 'ended';
  }

  /** Records the end of the job. @returns undefined where another run has claimed it. @throws StorageError */
  async #end(change: (job: JobRecord) => JobRecord): Promise<JobRecord | undefined> {
    // What was written already may come again: of a write whose answer got lost, nobody knows.
    const write = () => this.#claim.update((job) => (hasEnded(job.status) ? job : change(job)));
    return this.#patiently(write).catch((thrown: unknown) => {
      if (this.#claim.isLost) return undefined;
      throw thrown;
    });
  }

  /** Where the end can't be recorded, what the job made may be what fills the storage. */
  async #endWithoutFolder(change: (job: JobRecord) => JobRecord): Promise<JobRecord | undefined> {
    await this.#claim.require();
    await this.#removeFolder();
    return this.#end(change);
  }

  async #removeFolder(): Promise<void> {
    await this.#context.storage.removeFolder(this.#id).catch(() => undefined);
  }

  /** The job stays RUNNING, for another run. */
  async #leave(): Promise<JobOutcome> {
    await this.#claim.update(withoutAttempt).catch(() => undefined);
    return 'left';
  }
}

/** Whether the storage could not be reached, and may be soon. */
function isUnavailable(thrown: unknown): boolean {
  return isOrchardError(thrown) && thrown.code === 'storage' && thrown.isUnavailable;
}

/** A job whose record somebody removed is none to run. */
function unlessGone(thrown: unknown): undefined {
  if (!isOrchardError(thrown) || thrown.code !== 'not_found') throw thrown;
}
