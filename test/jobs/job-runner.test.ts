import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type AnyJobHandler,
  type JobLease,
  JobRunner,
  type JobRunnerOptions,
  type SharedJobQueue,
} from '../../src/jobs/index.js';
import { aMemoryStorage, aTrainer, createJob, statusOf } from './builders.js';
import { FakeHost } from './fake-host.js';

/** A queue that hands out what it is told to, at once. */
function aQueue() {
  const controllers: AbortController[] = [];
  let handler: AnyJobHandler = async () => 'left';
  let isClosed = false;
  const queue: SharedJobQueue = {
    specificationVersion: 1,
    add: async () => undefined,
    cancel: async () => undefined,
    work: () => ({ close: async () => undefined }),
    close: async () => undefined,
    workForAll(given) {
      handler = given;
      return {
        async close() {
          isClosed = true;
          for (const controller of controllers) controller.abort();
        },
      };
    },
  };
  const hand = (app_id: string, id: string) => {
    const controller = new AbortController();
    controllers.push(controller);
    const lease: JobLease = {
      id,
      signal: controller.signal,
      get stopReason() {
        return isClosed ? 'closing' : undefined;
      },
      renew: async () => true,
    };
    return handler(app_id, lease);
  };
  return { queue, hand };
}

function aRunner(options: Omit<JobRunnerOptions, 'queue'>) {
  const { queue, hand } = aQueue();
  const runner = new JobRunner({ ...options, queue });
  onTestFinished(() => runner.close());
  return { queue, hand, runner };
}

describe('a runner of jobs', () => {
  it('runs the jobs of whatever account it is handed, those of a pro too', async () => {
    const [storage, host] = [aMemoryStorage(), new FakeHost()];
    const { hand } = aRunner({ storage, host });
    for (const tier of ['basic', 'pro'] as const) {
      const { trainer } = aTrainer({ storage, account: { app_id: tier, tier }, runsJobs: false });
      const id = await createJob(trainer);
      const outcome = hand(tier, id);
      const run = await host.nextRun();
      expect(await statusOf(trainer, id)).toBe('RUNNING');
      await run.finish();
      expect(await outcome).toBe('ended');
      expect(await statusOf(trainer, id)).toBe('READY');
    }
  });

  it('leaves a job RUNNING when it closes', async () => {
    const [storage, host] = [aMemoryStorage(), new FakeHost()];
    const { hand, runner } = aRunner({ storage, host });
    const { trainer } = aTrainer({ storage, runsJobs: false });
    const id = await createJob(trainer);
    const outcome = hand('local', id);
    await host.nextRun();
    await runner.close();
    expect(await outcome).toBe('left');
    expect(await statusOf(trainer, id)).toBe('RUNNING');
  });

  it('shares its threads among the jobs that run at once', async () => {
    const [storage, host] = [aMemoryStorage(), new FakeHost()];
    const { hand } = aRunner({ storage, host, atOnce: 1000 });
    const { trainer } = aTrainer({ storage, runsJobs: false });
    const outcome = hand('local', await createJob(trainer));
    const run = await host.nextRun();
    expect(run.spec.threads).toBe(1);
    await run.finish();
    await outcome;
  });

  it.each([
    ['without a queue for all accounts', { queue: undefined }, 'queue'],
    ['that runs no job at once', { atOnce: 0 }, 'atOnce'],
  ])('is refused %s', (_, wrong, field) => {
    const options = { storage: aMemoryStorage(), queue: aQueue().queue, ...wrong };
    const running = process.getActiveResourcesInfo();
    expect(() => Reflect.construct(JobRunner, [options])).toThrow(field);
    expect(process.getActiveResourcesInfo()).toEqual(running); // nothing keeps the process alive
  });
});
