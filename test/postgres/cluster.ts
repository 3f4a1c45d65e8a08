import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { createClassificationArchive } from '../../src/families/index.js';
import { postgresQueue, postgresStorage } from '../../src/postgres/index.js';
import type { QueueTiming } from '../../src/postgres/queue-timing.js';
import { Trainer } from '../../src/trainer/index.js';
import { aDirectory } from '../storage/temporary-place.js';
import { writeCheckpoint } from '../support/checkpoint-builder.js';
import { resultOf } from '../support/outcomes.js';
import { SpeakingProcess } from '../support/speaking-process.js';
import type { PrivateServer } from './private-server.js';
import type { ClusterSettings } from './processes/cluster-settings.js';

export interface ClusterJob {
  readonly app_id: string;
  readonly id: string;
}

/** A time in which a process was about a job, as it said itself; until it was killed where it said no end. */
export interface Spell extends ClusterJob {
  readonly from: number;
  readonly to: number;
}

const jobRow = z.object({ id: z.string(), app_id: z.string(), status: z.string(), attempts: z.number() });
const writesRow = z.object({ id: z.string(), app_id: z.string(), from: z.date(), to: z.date() });

/** Processes over one schema of a server, and what the database itself saw of their jobs. */
export class Cluster {
  readonly #server: PrivateServer;
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
    this.#server = server;
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

  /** Creates as many jobs of each account, in turn, by trainers that run none. */
  async createJobs(accounts: number, each: number): Promise<ClusterJob[]> {
    const { connectionString, schema } = this.#settings;
    const storage = postgresStorage(connectionString, { schema });
    const queue = postgresQueue(connectionString, { schema });
    await storage.listKeys('jobs'); // makes the tables
    await this.#watch();
    const jobs: ClusterJob[] = [];
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
    return this.#start('./processes/train.ts');
  }

  startPredictor(): SpeakingProcess {
    return this.#start('./processes/predict.ts');
  }

  async kill(process: SpeakingProcess): Promise<void> {
    await process.kill(true);
    this.#killed.set(process, Date.now());
  }

  /** How the jobs stand. */
  async jobs() {
    const rows = await this.#server.sql(
      `SELECT value::jsonb->>'id' AS id, value::jsonb->>'app_id' AS app_id, value::jsonb->>'status' AS status,
         coalesce((value::jsonb->'attempts'->>'count')::int, 0) AS attempts
       FROM ${this.#settings.schema}.records WHERE collection = 'jobs'`,
    );
    return rows.map((row) => jobRow.parse(row));
  }

  async ready(): Promise<ClusterJob[]> {
    return (await this.jobs()).filter(({ status }) => status === 'READY');
  }

  /** How often each job was made READY, by id, as the database saw it. */
  async timesReady(): Promise<Map<string, number>> {
    const rows = await this.#server.sql(
      `SELECT id, count(*)::int AS times FROM ${this.#settings.schema}.job_history WHERE status = 'READY' GROUP BY id`,
    );
    const parsed = z.array(z.object({ id: z.string(), times: z.number() })).parse(rows);
    return new Map(parsed.map(({ id, times }) => [id, times]));
  }

  /** From the first to the last write of each run, as the database saw them. */
  async writtenSpells(): Promise<Spell[]> {
    const rows = await this.#server.sql(
      `SELECT id, app_id, min(at) AS from, max(at) AS to FROM ${this.#settings.schema}.job_history
       WHERE claim IS NOT NULL GROUP BY id, app_id, claim`,
    );
    return rows.map((row) => {
      const { from, to, ...job } = writesRow.parse(row);
      return { ...job, from: from.getTime(), to: to.getTime() };
    });
  }

  /** When each process was about each job, as it said itself. */
  toldSpells(): Spell[] {
    return this.#processes.flatMap((process) => {
      const spells = new Map<string, Spell>();
      for (const line of process.lines) {
        const [word, app_id = '', id = '', at] = line.split(' ');
        const known = spells.get(id);
        if (word === 'begin') {
          const to = this.#killed.get(process) ?? Number.POSITIVE_INFINITY;
          spells.set(`${id} ${at}`, { app_id, id, from: Number(at), to });
          spells.set(id, { app_id, id, from: Number(at), to });
        } else if (word === 'end' && known !== undefined) {
          spells.set(`${id} ${known.from}`, { ...known, to: Number(at) });
        }
      }
      return [...spells].flatMap(([key, spell]) => (key.includes(' ') ? spell : []));
    });
  }

  /** Waits until no job is in its last attempt, which a kill would end in ERROR. */
  async untilNoneMayFail(maxMs: number): Promise<void> {
    const deadline = performance.now() + maxMs;
    const mayFail = async () =>
      (await this.jobs()).some(({ status, attempts }) => status === 'RUNNING' && attempts >= 3);
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
    return process;
  }

  /** Lets the database keep what is written of each job. */
  async #watch(): Promise<void> {
    const { schema } = this.#settings;
    await this.#server.sql(`
      CREATE TABLE ${schema}.job_history (at timestamptz, id text, app_id text, status text, claim text);
      CREATE FUNCTION ${schema}.note_job() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO ${schema}.job_history SELECT clock_timestamp(), job->>'id', job->>'app_id', job->>'status',
            job->>'claim' FROM (SELECT NEW.value::jsonb AS job) AS of_job;
          RETURN NULL;
        END $$;
      CREATE TRIGGER note_job AFTER INSERT OR UPDATE ON ${schema}.records FOR EACH ROW
        WHEN (NEW.collection = 'jobs') EXECUTE FUNCTION ${schema}.note_job();`);
  }
}

/** Spells of one account, each with the next, that have a moment in common. */
export function overlaps(spells: readonly Spell[]): [Spell, Spell][] {
  const sorted = [...spells].sort((a, b) => a.from - b.from);
  return sorted.flatMap((spell, at): [Spell, Spell][] => {
    const next = sorted.slice(at + 1).find(({ app_id }) => app_id === spell.app_id);
    return next !== undefined && next.from < spell.to ? [[spell, next]] : [];
  });
}
