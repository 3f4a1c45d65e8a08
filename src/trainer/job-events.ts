import type { TrainingJobStatus } from '../contract/index.js';
import { AbortedError } from '../errors.js';
import { canReach, hasEnded, type JobRecord, type JobRepository, type WriteListener } from '../jobs/index.js';
import { type Clock, timestamp } from './clock.js';
import { EventBuffer } from './event-buffer.js';
import type { StateEvent, TrainingEvent } from './training-event.js';

/** Hands what happens to jobs to those who watch them. */
export class JobEvents implements WriteListener {
  readonly #jobs: JobRepository;
  readonly #clock: Clock;
  readonly #watchers = new Map<string, Set<EventBuffer>>();
  #failure: Error | undefined;

  constructor(jobs: JobRepository, clock: Clock) {
    this.#jobs = jobs;
    this.#clock = clock;
  }

  publish(event: TrainingEvent): void {
    for (const watcher of this.#watchers.get(event.id) ?? []) watcher.push(event);
  }

  publishState(job: JobRecord): void {
    this.publish(this.#stateEvent(job));
  }

  /**
   * Tells watchers how the jobs stand that don't run here, and ends the watch of one that can't be read. Never rejects.
   * @param runningId the one that runs here, and tells by itself.
   */
  async poll(runningId: string | undefined): Promise<void> {
    for (const id of [...this.#watchers.keys()]) if (id !== runningId) await this.#look(id);
  }

  /** Another process has written a job: those who watch it needn't wait for the next look. */
  written(id: string, isElsewhere: boolean): void {
    if (isElsewhere && this.#watchers.has(id)) void this.#look(id);
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
      const present = this.#stateEvent(await this.#jobs.get(id));
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

  async #look(id: string): Promise<void> {
    await this.#jobs.get(id).then(
      (job) => this.publishState(job),
      (thrown: unknown) => {
        for (const watcher of this.#watchers.get(id) ?? []) watcher.fail(thrown);
      },
    );
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
    if (watchers?.size === 0) this.#watchers.delete(id);
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
