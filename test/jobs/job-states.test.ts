import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TrainingError } from '../../src/contract/errors.js';
import { type TrainingJobStatus, trainingJobStatuses } from '../../src/contract/index.js';
import { Trainer } from '../../src/jobs/index.js';
import { canReach, hasEnded, moved, newJobRecord } from '../../src/jobs/job-record.js';
import { memoryStorage, type Storage } from '../../src/storage/index.js';
import { resultOf } from '../support/outcomes.js';
import { createJob, errorOf, statusOf } from './builders.js';
import { FakeHost, type FakeRun } from './fake-host.js';
import { aRequest } from './request.js';

const aJob = newJobRecord(aRequest, { id: 'a', app_id: 'local', created: '2026-01-01T00:00:00Z', seed: 0 });

/** Every transition of the design, an ended job's deletion included. */
const ALLOWED = [
  'CREATED>QUEUED',
  'CREATED>CANCELLED',
  'QUEUED>RUNNING',
  'QUEUED>CANCELLED',
  'RUNNING>READY',
  'RUNNING>ERROR',
  'RUNNING>CANCELLED',
  'READY>DELETED',
  'ERROR>DELETED',
  'CANCELLED>DELETED',
];

describe('the states of a job', () => {
  const pairs = trainingJobStatuses.flatMap((from) => trainingJobStatuses.map((to) => ({ from, to })));

  it.each(pairs)('leads from $from to $to only where the table says so', ({ from, to }) => {
    const job = { ...aJob, status: from };
    const move = () => moved(job, to);
    if (ALLOWED.includes(`${from}>${to}`)) expect(move()).toEqual({ ...job, status: to });
    else expect(move).toThrow(expect.objectContaining({ code: 'transition', id: 'a', from, to }));
  });

  it('keeps the query of a dataset_url until the job has ended', () => {
    const created = { ...aJob, dataset_url: 'https://someone:word@example.com/a.zip?signature=abc' };
    const queued = moved(created, 'QUEUED');
    const running = moved(queued, 'RUNNING');
    expect(running.dataset_url).toBe(created.dataset_url);
    const ended = [moved(queued, 'CANCELLED'), moved(running, 'READY'), moved(running, 'ERROR')];
    for (const { dataset_url } of ended) expect(dataset_url).toBe('https://example.com/a.zip?…');
  });

  it('never leads back', () => {
    for (const status of trainingJobStatuses) expect(canReach(status, status)).toBe(false);
  });

  it('reaches RUNNING from no ended state', () => {
    const ended = trainingJobStatuses.filter(hasEnded);
    expect(ended).toEqual(['READY', 'CANCELLED', 'DELETED', 'ERROR']);
    for (const status of ended) expect(canReach(status, 'RUNNING')).toBe(false);
  });
});

/** What should be true: the jobs in the order of their creation, at most one RUNNING. */
interface Model {
  readonly jobs: { readonly id: string; status: TrainingJobStatus }[];
}

/** The trainer under test, and the run of its RUNNING job. */
interface Real {
  readonly storage: Storage;
  trainer: Trainer;
  host: FakeHost;
  run: FakeRun | undefined;
}

/** One command, done to both. */
type Step = (real: Real, model: Model) => Promise<void>;

const create: Step = async ({ trainer }, model) => {
  model.jobs.push({ id: await createJob(trainer), status: 'QUEUED' });
};

const finish: Step = (real, model) =>
  endRun(real, model, 'READY', async (run) => {
    await run.finish();
  });

const fail: Step = (real, model) =>
  endRun(real, model, 'ERROR', async (run) => {
    run.fail(new TrainingError('training diverged'));
  });

const cancel =
  (pick: number): Step =>
  async ({ trainer }, { jobs }) => {
    const job = jobs[pick % jobs.length];
    if (job === undefined) return;
    if (job.status === 'QUEUED' || job.status === 'RUNNING') {
      await resultOf(trainer.cancelTrainingJob(job.id));
      job.status = 'CANCELLED';
    } else {
      expect(await errorOf(trainer.cancelTrainingJob(job.id))).toMatchObject({
        code: 'transition',
        from: job.status,
      });
    }
  };

const remove =
  (pick: number): Step =>
  async ({ trainer }, { jobs }) => {
    const job = jobs[pick % jobs.length];
    if (job === undefined) return;
    await resultOf(trainer.deleteModel(job.id));
    job.status = 'DELETED';
  };

const restart: Step = async (real) => {
  await real.trainer.close();
  Object.assign(real, open(real.storage));
};

async function endRun(
  { run, trainer }: Real,
  { jobs }: Model,
  status: TrainingJobStatus,
  end: (run: FakeRun) => Promise<void>,
): Promise<void> {
  const running = jobs.find((job) => job.status === 'RUNNING');
  if (running === undefined || run === undefined) return;
  await end(run);
  await resultOf(trainer.waitForTrainingJob(running.id));
  running.status = status;
}

/** The first waiting job starts where none runs. */
async function startNext(real: Real, { jobs }: Model): Promise<void> {
  const running = jobs.find(({ status }) => status === 'RUNNING');
  if (running !== undefined && running.id === real.run?.spec.id) return;
  const next = running ?? jobs.find(({ status }) => status === 'QUEUED');
  if (next === undefined) return;
  next.status = 'RUNNING';
  real.run = await real.host.nextRun();
  expect(real.run.spec.id).toBe(next.id);
}

async function compare({ trainer, host, storage }: Real, { jobs }: Model): Promise<void> {
  expect(host.mostTogether).toBeLessThanOrEqual(1);
  for (const { id, status } of jobs) {
    expect(await statusOf(trainer, id)).toBe(status);
    expect((await storage.openFolder(id)) !== undefined).toBe(status === 'READY');
  }
  const listed = await resultOf(trainer.listModels({ limit: 100 }));
  const present = jobs.filter(({ status }) => status !== 'DELETED').map(({ id }) => id);
  expect(listed.data.map(({ id }) => id)).toEqual(present.reverse());
}

function open(storage: Storage): Pick<Real, 'trainer' | 'host' | 'run'> {
  const host = new FakeHost();
  return { trainer: new Trainer({ storage, host }), host, run: undefined };
}

describe('any course of commands', () => {
  it('leaves every job as a plain list of jobs says', async () => {
    const pick = fc.nat({ max: 20 });
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.constant(create) },
      { weight: 2, arbitrary: fc.constant(finish) },
      fc.constant(fail),
      pick.map(cancel),
      pick.map(remove),
      fc.constant(restart),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const storage = memoryStorage();
        const real: Real = { storage, ...open(storage) };
        const model: Model = { jobs: [] };
        for (const each of steps) {
          await each(real, model);
          await startNext(real, model);
          await compare(real, model);
        }
        await real.trainer.close();
        await storage.close();
      }),
      { numRuns: 100 },
    );
  });
});
