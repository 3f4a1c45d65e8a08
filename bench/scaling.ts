import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { Database } from '../src/postgres/index.js';
import { machine, median } from './report.js';
import { aDatabase } from './scaling/a-database.js';
import { measureCosts } from './scaling/costs.js';
import { createJobs, whenAllReady } from './scaling/jobs.js';
import { ServiceProcess } from './scaling/service-process.js';

/**
 * What a service with processes of several roles needs, over one PostgreSQL. First, what it asks of the database. Then how many jobs two trainer processes train in the time of one, each pinned to a processor of its own, over one
 * PostgreSQL: jobs of different accounts, the same work in every round, one and two processes in turn.
 * Usage: `npm run bench -- scaling [--only costs|trainers] [--jobs 24] [--rounds 3] [--epochs 5] [--cores 0,1] [--database <url>]`; without a
 * database it starts a server of its own, from the binaries that the system has. Linux alone: it pins by taskset.
 */

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    jobs: { type: 'string', default: '24' },
    rounds: { type: 'string', default: '3' },
    epochs: { type: 'string', default: '5' },
    cores: { type: 'string', default: '0,1' },
    database: { type: 'string' },
  },
});
const count = Number(options.jobs);
const rounds = Number(options.rounds);
const epochs = Number(options.epochs);
const cores = options.cores.split(',');

console.log(machine());
const server = await aDatabase(options.database);
try {
  if (options.only !== 'trainers') {
    await measureCosts({ connectionString: server.connectionString, schema: 'bench_costs' });
  }
  if (options.only !== 'costs') await compareTrainers();
} finally {
  await server.close();
}

async function compareTrainers(): Promise<void> {
  console.log(`${count} jobs of as many accounts, ${epochs} epochs, processors ${cores.join(' and ')}`);
  const seen: { readonly processes: number; readonly jobsPerMinute: number; readonly cpuMs: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const processes of round % 2 === 0 ? [1, cores.length] : [cores.length, 1]) {
      const figures = await measure(`bench_${round}_${processes}`, cores.slice(0, processes));
      seen.push({ processes, ...figures });
      const load = loadavg()[0]?.toFixed(1);
      console.log(JSON.stringify({ round, processes, ...figures, load }));
    }
  }
  const compared = (figure: 'jobsPerMinute' | 'cpuMs') => {
    const of = (processes: number) =>
      median(seen.filter((each) => each.processes === processes).map((each) => each[figure]));
    const [one, all] = [of(1), of(cores.length)];
    return { one: one.toFixed(1), all: all.toFixed(1), ratio: (all / one).toFixed(2) };
  };
  // On a machine that others use, the processor time tells what they can't change.
  console.table({
    'jobs a minute': compared('jobsPerMinute'),
    'processor ms for a job': compared('cpuMs'),
  });
}

/** Trains the jobs, in a schema of their own, from the first that runs to the last that is READY. */
async function measure(schema: string, pinnedTo: readonly string[]) {
  const database = { connectionString: server.connectionString, schema };
  await createJobs(database, { count, epochs });
  const start = (core: string) => ServiceProcess.start(database, ['--role', 'trainer'], [], ['taskset', '-c', core]);
  const trainers = await Promise.all(pinnedTo.map(start));
  try {
    const ms = await whenAllReady(new Database(server.connectionString, { schema }), count);
    const cpuMs = trainers.reduce((sum, trainer) => sum + trainer.cpuMs(), 0);
    return {
      jobsPerMinute: Math.round((600_000 * count) / ms) / 10,
      cpuMs: Math.round(cpuMs / count),
    };
  } finally {
    await Promise.all(trainers.map((trainer) => trainer.stop()));
  }
}
