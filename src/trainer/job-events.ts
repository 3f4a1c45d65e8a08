import type { TrainingJobStatus } from '../contract/index.js';
import { AbortedError } from '../errors.js';
import { canReach, hasEnded, type JobRecord, type JobRepository, onWrite } from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import { type Clock, timestamp } from './clock.js';
import { EventBuffer } from './event-buffer.js';
import type { StateEvent, TrainingEvent } from './training-event.js';

/** Hands what happens to jobs to those who watch them. */
export class JobEvents {
  readonly #jobs: JobRepository;
  readonly #clock: Clock;
  readonly #watchers = new Map<string, Set<EventBuffer>>();
  /** How many epochs of a job its watchers know of. */
  readonly #epochs = new Map<string, number>();
  #failure: Error | undefined;
  /** The job that runs here and tells by itself what happens to it. */
  runningId: string | undefined;

  /** @param storage whose writes of jobs are looked at as soon as this process knows of them. */
  constructor(jobs: JobRepository, clock: Clock, storage?: Storage) {
    this.#jobs = jobs;
    this.#clock = clock;
    if (storage !== undefined) onWrite(storage, this);
  }

  /** Somebody has written a job. */
  written(id: string): void {
    if (id !== this.runningId && this.#watchers.has(id)) void this.#look(id);
  }

  publish(event: TrainingEvent): void {
    if (event.type === 'epoch') this.#epochs.set(event.id, event.stats.epoch);
    for (const watcher of this.#watchers.get(event.id) ?? []) watcher.push(event);
  }

  publishState(job: JobRecord): void {
    this.publish(this.#stateEvent(job));
  }

  /** Tells watchers how the jobs stand that don't run here, and ends the watch of one that can't be read. Never rejects. */
  async poll(): Promise<void> {
    for (const id of [...this.#watchers.keys()]) if (id !== this.runningId) await this.#look(id);
  }

  /**
   * The job's present state, then what happens until it has ended. Watching begins with the first `next` and
   * stops with the loop.
   * @throws NotFoundError, StorageError; AbortedError when the signal fires; whatever `fail` is given.
   */
  async *watch(id: string, signal?: AbortSignal): AsyncGenerator<TrainingEvent, void, undefined> {
    const buffer = new EventBuffer();
    if (this.#failure) buffer.fail(this.#failure);
    const abort = () => buffer.abort(new AbortedError(`waiting for training job ${id}`));
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort);
    this.#subscribe(id, buffer); // before the read, so that no state falls between
    try {
      const job = await this.#jobs.get(id);
      if (!this.#epochs.has(id)) this.#epochs.set(id, job.stats.epoch);
      const present = this.#stateEvent(job);
      yield present;
      yield* newsUntilEnd(buffer, present.status);
    } finally {
      signal?.removeEventListener('abort', abort);
      this.#unsubscribe(id, buffer);
    }
  }

  /** Resolves when the job has ended. @throws as `watch` does. */
  async ended(id: string, signal?: AbortSignal): Promise<void> {
    for await (const _ of this.watch(id, signal));
  }

  /** Ends every watch, and each one begun later, with this error. */
  fail(error: Error): void {
    this.#failure = error;
    this.failPresent(error);
  }

  /** Ends the watches of now with this error; the jobs go on. */
  failPresent(error: unknown): void {
    for (const watchers of this.#watchers.values()) for (const watcher of watchers) watcher.fail(error);
  }

  /** Tells those who watch a job what its record says. Never rejects. */
  async #look(id: string): Promise<void> {
    try {
      const job = await this.#jobs.get(id);
      const { stats } = job;
      if (stats.epoch > 0 && stats.epoch !== (this.#epochs.get(id) ?? stats.epoch)) {
        this.publish({ type: 'epoch', id, stats });
      }
      this.publishState(job);
    } catch (thrown) {
      for (const watcher of this.#watchers.get(id) ?? []) watcher.fail(thrown);
    }
  }

  #stateEvent({ id, status }: JobRecord): StateEvent {
    return { type: 'state', id, status, at: timestamp(this.#clock.now()) };
  }

  #subscribe(id: string, buffer: EventBuffer): void {
    const watchers = this.#watchers.get(id) ?? new Set();
    this.#watchers.set(id, watchers.add(buffer));
  }

  #unsubscribe(id: string, buffer: EventBuffer): void {
    const watchers = this.#watchers.get(id);
    watchers?.delete(buffer);
    if (watchers?.size !== 0) return;
    this.#watchers.delete(id);
    this.#epochs.delete(id);
  }
}

/** Passes over states that are no news: told already, or older than what the record said. */
async function* newsUntilEnd(
  buffer: EventBuffer,
  present: TrainingJobStatus,
): AsyncGenerator<TrainingEvent, void, undefined> {
  let status = present;
  while (!hasEnded(status)) {
    const event = await buffer.next();
    if (event.type === 'state') {
      if (!canReach(status, event.status)) continue;
      status = event.status;
    }
    yield event;
  }
}
