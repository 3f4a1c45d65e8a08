import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { QUEUE_TIMING, type QueueTiming } from '../../src/postgres/postgres-queue.js';
import type { SpeakingProcess } from '../support/speaking-process.js';
import { Chance } from '../trust/chance.js';
import { Cluster } from './cluster.js';
import { type KnownJob, overlaps } from './job-history.js';
import { describeWithPostgres } from './private-server.js';

/**
 * Three processes that train and three that answer, over one database, while trainers are killed with kill -9.
 * `CLUSTER_JOBS` says how many jobs (default 6), `CLUSTER_ACCOUNTS` of how many accounts (default 3), `CLUSTER_KILLS` how
 * many kills (default 2), `CLUSTER_SEED` which.
 */

const JOBS = Number(process.env.CLUSTER_JOBS ?? 6);
const ACCOUNTS = Number(process.env.CLUSTER_ACCOUNTS ?? 3);
const KILLS = Number(process.env.CLUSTER_KILLS ?? 2);
const SEED = Number(process.env.CLUSTER_SEED ?? 1);
const TRAINERS = 3;
const PREDICTORS = 3;
/** The short form has no time to outlast the leases of every day. */
const SHORT: QueueTiming = { ...QUEUE_TIMING, leaseMs: 6_000, heartbeatMs: 1_000, pollMs: 500 };
const TIMING = process.env.CLUSTER_JOBS === undefined ? SHORT : QUEUE_TIMING;
/** Longer than any job takes. */
const PATIENCE_MS = 240_000;
/** A trainer that begins no job for so long is killed without one. */
const BEGIN_WITHIN_MS = 5_000;
/** After a trainer has begun a job; the first kill comes at once, so that one job at least is cut. */
const KILL_WITHIN_MS = 1_500;

describeWithPostgres('three trainers and three predictors over one database', (server) => {
  it(`make ${JOBS} jobs READY once each through ${KILLS} kills, one of an account at a time; every predictor answers for all`, {
    timeout: PATIENCE_MS + JOBS * 10_000 + KILLS * 60_000,
  }, async () => {
    const chance = new Chance(SEED);
    const cluster = await Cluster.create(server, TIMING);
    const jobs = await cluster.createJobs(ACCOUNTS, JOBS / ACCOUNTS);
    const predictors = Array.from({ length: PREDICTORS }, () => cluster.startPredictor());
    const trainers = Array.from({ length: TRAINERS }, () => cluster.startTrainer());
    const asking = askAll(cluster, jobs, predictors);

    for (let kills = 0; kills < KILLS; kills += 1) {
      await untilReady(cluster, Math.floor((kills * JOBS) / (KILLS + 1)));
      await killOne(cluster, trainers, chance, kills === 0 ? 1 : KILL_WITHIN_MS);
      log(`kill ${kills + 1}, ${(await cluster.ready()).length} READY`);
    }
    await untilReady(cluster, JOBS);
    await asking;
    for (const trainer of trainers) await trainer.stop();

    expect((await cluster.history.jobs()).filter(({ status }) => status !== 'READY')).toEqual([]);
    const times = await cluster.history.timesReady();
    expect(jobs.filter(({ id }) => times.get(id) !== 1)).toEqual([]);
    const runs = cluster.reportedRuns();
    expect(new Set(runs.map(({ id }) => id)).size).toBe(JOBS);
    expect(runs.length).toBeGreaterThan(JOBS); // some were killed with their trainer
    expect(overlaps(runs)).toEqual([]);
    expect(overlaps(await cluster.history.runs())).toEqual([]);
    for (const predictor of predictors) {
      const wrong = predictor.lines.filter((line) => !/ answered (good,bad|bad,good)$/.test(line));
      expect(wrong).toEqual([]);
      expect(predictor.lines).toHaveLength(JOBS);
      await predictor.kill(true);
    }
    expect(cluster.errors).toEqual([]);
    log(`${runs.length} runs of ${JOBS} jobs`);
  });
});

/** Asks each model of each predictor as soon as it is READY; resolves when all have answered. */
async function askAll(
  cluster: Cluster,
  jobs: readonly KnownJob[],
  predictors: readonly SpeakingProcess[],
): Promise<void> {
  const asked = new Set<string>();
  while (asked.size < jobs.length) {
    for (const { app_id, id } of await cluster.ready()) {
      if (asked.has(id)) continue;
      asked.add(id);
      for (const predictor of predictors) predictor.tell(`${app_id} ${id}`);
    }
    await delay(200);
  }
  for (const { id } of jobs) {
    for (const predictor of predictors) await predictor.says(id);
  }
}

async function untilReady(cluster: Cluster, count: number): Promise<void> {
  let ready = 0;
  let deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const now = (await cluster.ready()).length;
    if (now >= count) return;
    if (now > ready) deadline = performance.now() + PATIENCE_MS;
    ready = now;
    if (performance.now() > deadline) throw new Error(`no job came to its end, after ${ready}`);
    await delay(100);
  }
}

/** Kills a trainer, mostly while it trains, and starts another. */
async function killOne(cluster: Cluster, trainers: SpeakingProcess[], chance: Chance, withinMs: number): Promise<void> {
  const index = chance.below(trainers.length);
  const victim = trainers[index];
  if (victim === undefined) throw new Error('there is no such trainer');
  await victim.says('ready');
  if (withinMs === 1 || chance.below(5) > 0) {
    const begun = victim.lines.filter((line) => line.startsWith('begin ')).length;
    await Promise.race([victim.says('begin ', begun + 1), delay(BEGIN_WITHIN_MS)]);
  }
  await delay(chance.below(withinMs));
  await cluster.untilNoneMayFail(PATIENCE_MS);
  await cluster.kill(victim);
  trainers[index] = cluster.startTrainer();
}

/** Prints progress if `CLUSTER_LOG` is set. */
function log(news: string): void {
  if (process.env.CLUSTER_LOG !== undefined) console.log(new Date().toISOString(), news);
}
