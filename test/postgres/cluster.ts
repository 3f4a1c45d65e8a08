import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { onTestFinished } from 'vitest';
import { createClassificationArchive } from '../../src/families/index.js';
import { Trainer } from '../../src/jobs/index.js';
import { postgresQueue, postgresStorage } from '../../src/postgres/index.js';
import type { QueueTiming } from '../../src/postgres/postgres-queue.js';
import { aDirectory } from '../storage/temporary-place.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';
import { resultOf } from '../support/outcomes.js';
import { SpeakingProcess } from '../support/speaking-process.js';
import { JobHistory, type KnownJob, type Run } from './job-history.js';
import type { PrivateServer } from './private-server.js';
import type { ClusterSettings } from './processes/cluster-settings.js';

/** Processes over one schema of a server. */
export class Cluster {
  /** What the database itself saw of the jobs. */
  readonly history: JobHistory;
  readonly #settings: ClusterSettings;
  readonly #temporary: string;
  readonly #request: Parameters<Trainer['createTrainingJob']>[0];
  /** When each process was killed, by the clock of this machine. */
  readonly #killed = new Map<SpeakingProcess, number>();
  readonly #processes: SpeakingProcess[] = [];

  private constructor(
    server: PrivateServer,
    settings: ClusterSettings,
    temporary: string,
    request: Parameters<Trainer['createTrainingJob']>[0],
  ) {
    this.history = new JobHistory(server, settings.schema);
    this.#settings = settings;
    this.#temporary = temporary;
    this.#request = request;
  }

  /** Its jobs train the tiniest model for three epochs. */
  static async create(server: PrivateServer, timing: QueueTiming): Promise<Cluster> {
    const [models, temporary] = [await aDirectory(), await aDirectory()];
    writeCheckpoint(join(models, 'tiny'));
    const rows = ['great', 'awful', 'works', 'broke'].map((word, row) => ({
      text: `the lamp is ${word}`,
      label: row % 2 === 0 ? 'good' : 'bad',
    }));
    const type = 'binary-text-classification';
    const archive = join(models, 'lamps.zip');
    await resultOf(createClassificationArchive({ type, name: 'lamps', rows, devRows: rows }, archive));
    const request = {
      dataset_url: pathToFileURL(archive).href,
      model_config: { name: 'lamps', type, family: 'Papaya', size: 'mini' },
      training_config: { batch_size: 2, num_epochs: 3, learning_rate: 1e-3 },
    } as const;
    const schema = server.newSchema();
    const { connectionString } = server;
    const cache = join(temporary, 'cache');
    return new Cluster(server, { connectionString, schema, cache, timing, models }, temporary, request);
  }

  /** Creates `each` jobs of each account with trainers that run none. */
  async createJobs(accounts: number, each: number): Promise<KnownJob[]> {
    const { connectionString, schema } = this.#settings;
    const storage = postgresStorage(connectionString, { schema });
    const queue = postgresQueue(connectionString, { schema });
    await storage.listKeys('jobs'); // makes the tables
    await this.history.begin();
    const jobs: KnownJob[] = [];
    const names = Array.from({ length: accounts }, (_, account) => `account-${account}`);
    const trainers = names.map((app_id) => {
      const account = { app_id, tier: 'basic' } as const;
      const options = { storage, queue, account, runsJobs: false, backbone: 'tiny', seed: 7 };
      return { app_id, trainer: new Trainer({ ...options, tuning: { quantize: false } }) };
    });
    for (let job = 0; job < each; job += 1) {
      for (const { app_id, trainer } of trainers) {
        const { id } = await resultOf(trainer.createTrainingJob(this.#request));
        jobs.push({ app_id, id });
      }
    }
    for (const { trainer } of trainers) await trainer.close();
    await queue.close();
    await storage.close();
    return jobs;
  }

  startTrainer(): SpeakingProcess {
    return this.#start('./processes/train-for-all.ts');
  }

  startPredictor(): SpeakingProcess {
    return this.#start('./processes/predict.ts');
  }

  async kill(process: SpeakingProcess): Promise<void> {
    await process.kill(true);
    this.#killed.set(process, Date.now());
  }

  async ready(): Promise<KnownJob[]> {
    return (await this.history.jobs()).filter(({ status }) => status === 'READY');
  }

  /** The runs of jobs, as the processes report them. */
  reportedRuns(): Run[] {
    return this.#processes.flatMap((process) => {
      const runs = new Map<string, Run>();
      for (const line of process.lines) {
        const [word, app_id = '', id = '', at] = line.split(' ');
        const known = runs.get(id);
        if (word === 'begin') {
          const to = this.#killed.get(process) ?? Number.POSITIVE_INFINITY;
          runs.set(`${id} ${at}`, { app_id, id, from: Number(at), to });
          runs.set(id, { app_id, id, from: Number(at), to });
        } else if (word === 'end' && known !== undefined) {
          runs.set(`${id} ${known.from}`, { ...known, to: Number(at) });
        }
      }
      return [...runs].flatMap(([key, run]) => (key.includes(' ') ? run : []));
    });
  }

  /** Waits until no job is in its last attempt, which a kill would end in ERROR. */
  async untilNoneMayFail(maxMs: number): Promise<void> {
    const deadline = performance.now() + maxMs;
    const mayFail = async () =>
      (await this.history.jobs()).some(({ status, attempts }) => status === 'RUNNING' && attempts >= 10);
    while (await mayFail()) {
      if (performance.now() > deadline) throw new Error('a job in its last attempt does not come to its end');
      await delay(200);
    }
  }

  get errors(): string[] {
    return this.#processes.map(({ errors }) => errors).filter((text) => text !== '');
  }

  #start(script: string): SpeakingProcess {
    const process = new SpeakingProcess(new URL(script, import.meta.url), this.#settings, this.#temporary);
    this.#processes.push(process);
    onTestFinished(() => process.kill(true));
    return process;
  }
}
