import { AbortedError, type TrainingJobStatus } from '../contract/index.js';
import type { Storage } from '../storage/index.js';
import type { TrainingRunEvent } from '../training/index.js';
import { type Clock, keepingAlive, timestamp } from './clock.js';
import { canReach, hasEnded, type JobRecord } from './job-record.js';
import type { JobRepository } from './job-repository.js';
import { onWrite } from './job-writes.js';

/** The job has entered a state; `at` is ISO 8601. */
export interface StateEvent {
  readonly type: 'state';
  readonly id: string;
  readonly status: TrainingJobStatus;
  readonly at: string;
}

/** The events of `watch`: the states that a job enters, and the events of its run. */
export type TrainingEvent = StateEvent | (TrainingRunEvent & { readonly id: string });

export class JobEvents {
  readonly #jobs: JobRepository;
  readonly #clock: Clock;
  readonly #watchers = new Map<string, Set<EventBuffer>>();
  readonly #epochs = new Map<string, number>();
  #failure: Error | undefined;
  /** The job that runs here, whose run publishes its events. */
  runningId: string | undefined;

  /** @param storage the storage of the jobs; a write of a job makes its watchers look at once. */
  constructor(jobs: JobRepository, clock: Clock, storage?: Storage) {
    this.#jobs = jobs;
    this.#clock = clock;
    if (storage !== undefined) onWrite(storage, this);
  }

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

  /** Looks at the watched jobs that don't run here, and ends the watch of one that can't be read. Never rejects. */
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
    try {
      const job = await this.#jobs.get(id);
      const { stats, validation_rows: rows, positive_label: positive } = job;
      if (stats.epoch > 0 && stats.epoch !== (this.#epochs.get(id) ?? stats.epoch)) {
        const named = { ...(rows !== undefined && { rows }), ...(positive !== undefined && { positive }) };
        this.publish({ type: 'epoch', id, stats, ...named });
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

/** Skips states that are known already, or older than what the record said. */
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

/**
 * Events on their way to one reader. It never holds more than the states of a job and one event of each other kind,
 * even for a slow reader: newer progress replaces older progress, as do figures, which cover all epochs so far;
 * warnings are joined.
 */
export class EventBuffer {
  #pending: TrainingEvent[] = [];
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  push(event: TrainingEvent): void {
    if (this.#failure) return;
    const earlier = this.#pending.find((pending) => isSameKind(pending, event));
    this.#pending = this.#pending.filter((pending) => pending !== earlier);
    this.#pending.push(earlier === undefined ? event : joined(earlier, event));
    this.#wake?.();
  }

  /** Makes `next` reject once what is pending has been read. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake?.();
  }

  abort(error: unknown): void {
    this.#pending = [];
    this.fail(error);
  }

  /** The oldest event, as soon as there is one; waiting for it keeps the process alive. One reader at a time. */
  async next(): Promise<TrainingEvent> {
    for (;;) {
      const event = this.#pending.shift();
      if (event) return event;
      if (this.#failure) throw this.#failure.error;
      const news = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await keepingAlive(news);
    }
  }
}

function isSameKind(a: TrainingEvent, b: TrainingEvent): boolean {
  return a.type === 'state' && b.type === 'state' ? a.status === b.status : a.type === b.type;
}

function joined(earlier: TrainingEvent, later: TrainingEvent): TrainingEvent {
  if (earlier.type !== 'warnings' || later.type !== 'warnings') return later;
  return { ...later, warnings: [...earlier.warnings, ...later.warnings] };
}

/** After this long, a failing storage becomes an error of the calls that wait. */
export const LASTING_MS = 30_000;

/** Failures in the background: one that passes is not reported, one that lasts is. */
export class LastingTrouble {
  readonly #clock: Clock;
  readonly #tell: (error: unknown) => void;
  /** Since when each task has failed, by {@link Clock.elapsed}. */
  readonly #since = new Map<string, number>();

  /** @param tell is called with each failure of a task that has failed for {@link LASTING_MS} and longer. */
  constructor(clock: Clock, tell: (error: unknown) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  succeeded(task: string): void {
    this.#since.delete(task);
  }

  failed(task: string, error: unknown): void {
    const now = this.#clock.elapsed();
    const since = this.#since.get(task) ?? now;
    this.#since.set(task, since);
    if (now - since >= LASTING_MS) this.#tell(error);
  }
}
