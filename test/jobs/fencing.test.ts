import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TrainingError } from '../../src/contract/errors.js';
import type { JobHandler, JobLease, JobOutcome, JobQueue, StopReason } from '../../src/jobs/index.js';
import type { Storage } from '../../src/storage/index.js';
import { aMemoryStorage, aTrainer, createJob, statusOf, type TrainerInTest } from './builders.js';
import { type FakeRun, statsAfter } from './fake-host.js';
import { SharedMedium } from './shared-medium.js';

/**
 * A run that is suspended at some point, for longer than its lease, and comes back while or after another machine runs its
 * job: at every call that it makes of its storage and its lease, one after the other.
 */

/** A queue whose jobs the test hands out. */
class HandingQueue implements JobQueue {
  readonly specificationVersion = 1;
  #handler: JobHandler | undefined;
  #isWorking: () => void = () => undefined;
  readonly #working = new Promise<void>((resolve) => {
    this.#isWorking = resolve;
  });

  async hand(lease: JobLease): Promise<JobOutcome> {
    await this.#working;
    return this.#handler?.(lease) ?? 'left';
  }

  work(_: string, handler: JobHandler) {
    this.#handler = handler;
    this.#isWorking();
    return { close: async () => undefined };
  }

  async add() {}
  async cancel() {}
  async close() {}
}

/** A lease that is lost when the test says so, and known to be only when it is renewed. */
class ALease implements JobLease {
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  stopReason: StopReason | undefined;
  isHeld = true;
  constructor(
    readonly id: string,
    readonly point: Point,
  ) {}

  async renew(): Promise<boolean> {
    const isHeld = this.isHeld;
    await this.point.pass();
    if (!isHeld) {
      this.stopReason = 'lost';
      this.#controller.abort();
    }
    return isHeld;
  }
}

/** The one call at which a run is suspended. */
class Point {
  #calls = 0;
  #goOn: () => void = () => undefined;
  #reached: () => void = () => undefined;
  readonly reached = new Promise<void>((resolve) => {
    this.#reached = resolve;
  });
  readonly #resumed = new Promise<void>((resolve) => {
    this.#goOn = resolve;
  });

  constructor(readonly at: number) {}

  /** Passed before each call. */
  async pass(): Promise<void> {
    this.#calls += 1;
    if (this.#calls !== this.at) return;
    this.#reached();
    await this.#resumed;
  }

  resume(): void {
    this.#goOn();
  }
}

/** The storage, of which every call passes the point first. */
function through(storage: Storage, point: { current?: Point }): Storage {
  return new Proxy(storage, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function' || name === 'close') return value;
      return async (...args: unknown[]) => {
        await point.current?.pass();
        return Reflect.apply(value, target, args);
      };
    },
  });
}

interface Machine extends TrainerInTest {
  readonly queue: HandingQueue;
}

function aMachine(storage: Storage): Machine {
  const queue = new HandingQueue();
  return { ...aTrainer({ storage, queue }), queue };
}

type EndOfRun = (run: FakeRun) => Promise<void> | void;

async function finish(run: FakeRun, weights: string): Promise<void> {
  await writeFile(join(run.spec.directory, 'weights'), weights);
  await run.finish();
}

/** How the run that was suspended goes on where its training still gets that far. */
const ends: readonly [string, EndOfRun][] = [
  ['finishes', (run) => finish(run, 'of the run that was cut off')],
  ['fails', (run) => run.fail(new TrainingError('training diverged'))],
];
/** How far its successor is by then. */
const successors = ['trains', 'has made the model READY', 'has ended the job in ERROR'] as const;

async function everRuns(machine: Machine): Promise<FakeRun> {
  const run = await machine.host.nextRun();
  run.emit({ type: 'epoch', stats: statsAfter(1) });
  return run;
}

/** @returns false where the run has fewer calls than that, and was not suspended. */
async function comesBack(at: number, end: EndOfRun, progress: (typeof successors)[number]): Promise<boolean> {
  const storage = aMemoryStorage();
  const medium = new SharedMedium(storage);
  const gate: { current?: Point } = {};
  const late = aMachine(through(await medium.view(), gate));
  const successor = aMachine(await medium.view());
  const id = await createJob(late.trainer);

  const point = new Point(at);
  gate.current = point;
  const lease = new ALease(id, point);
  const outcome = late.queue.hand(lease);
  const training = everRuns(late).then(end);
  const wasSuspended = await Promise.race([point.reached.then(() => true), outcome.then(() => false)]);
  if (!wasSuspended) return false;

  lease.isHeld = false;
  const before = await storage.read('jobs', `local/${id}`);
  const hadEnded = await statusOf(successor.trainer, id);
  const taken = successor.queue.hand(new ALease(id, new Point(0)));
  if (hadEnded === 'READY' || hadEnded === 'ERROR') {
    expect(await taken).toBe('ended'); // suspended after it had recorded the end
    point.resume();
    await outcome;
    expect(await storage.read('jobs', `local/${id}`)).toEqual(before);
    return true;
  }

  const isPublished = (await storage.openFolder(id)) !== undefined;
  const run = isPublished ? undefined : await successor.host.nextRun();
  run?.emit({ type: 'epoch', stats: statsAfter(3) });
  if (progress === 'has made the model READY' && run) await finish(run, 'of the successor');
  if (progress === 'has ended the job in ERROR') run?.fail(new TrainingError('no memory'));
  if (isPublished || progress !== 'trains') expect(await taken).toBe('ended');
  else await recorded(storage, id);
  const then = await storage.read('jobs', `local/${id}`);

  point.resume();
  const left = await outcome;
  void training;
  if (left === 'ended') expect(isPublished || progress !== 'trains').toBe(true);
  expect(await storage.read('jobs', `local/${id}`)).toEqual(then);

  if (run !== undefined && progress === 'trains') {
    await finish(run, 'of the successor');
    await untilEnded(taken, successor, id);
  }
  const status = progress === 'has ended the job in ERROR' && !isPublished ? 'ERROR' : 'READY';
  expect(await statusOf(successor.trainer, id)).toBe(status);
  if (run !== undefined && status === 'READY') expect(await weights(storage, id)).toBe('of the successor');
  if (status === 'ERROR') expect(await storage.openFolder(id)).toBeUndefined();
  return true;
}

/** The successor's figures are in the record. */
async function recorded(storage: Storage, id: string): Promise<void> {
  for (;;) {
    const found = await storage.read('jobs', `local/${id}`);
    if (JSON.stringify(found?.value).includes('"epoch":3')) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A job that its successor had to leave, since the late run staged its folder meanwhile, is handed out again. */
async function untilEnded(taken: Promise<JobOutcome>, { queue, host }: Machine, id: string): Promise<void> {
  if ((await taken) === 'ended') return;
  const again = queue.hand(new ALease(id, new Point(0)));
  await finish(await host.nextRun(), 'of the successor');
  expect(await again).toBe('ended');
}

async function weights(storage: Storage, id: string): Promise<string> {
  return readFile(join((await storage.openFolder(id)) ?? '', 'weights'), 'utf8');
}

describe.each(successors)('a run that comes back when its successor %s', (progress) => {
  it.each(ends)('and that %s, changes nothing, wherever it was suspended', async (_, end) => {
    let at = 1;
    while (await comesBack(at, end, progress)) at += 1;
    expect(at).toBeGreaterThan(10);
  });
});
