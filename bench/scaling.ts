/**
 * How many jobs two trainer processes train in the time of one, each pinned to a processor of its own, over one
 * PostgreSQL: jobs of different accounts, the same work in every round, one and two processes in turn.
 * Usage: `npm run bench:scaling -- [--jobs 24] [--rounds 3] [--epochs 5] [--cores 0,1] [--database <url>]`; without a
 * database it starts a server of its own, from the binaries that the system has. Linux alone: it pins by taskset.
 */
import { parseArgs } from 'node:util';
import { Database } from '../src/postgres/index.js';
import { machine, median } from './report.js';
import { aDatabase } from './scaling/a-database.js';
import { createJobs, whenAllReady } from './scaling/jobs.js';
import { TrainerProcess } from './scaling/trainer-process.js';

const { values: options } = parseArgs({
  options: {
    jobs: { type: 'string', default: '24' },
    rounds: { type: 'string', default: '3' },
    epochs: { type: 'string', default: '5' },
    cores: { type: 'string', default: '0,1' },
    database: { type: 'string' },
  },
});
const [count, rounds, epochs] = [options.jobs, options.rounds, options.epochs].map(Number);
const cores = options.cores.split(',');

console.log(`${machine()}; ${count} jobs of as many accounts, ${epochs} epochs, processors ${cores.join(' and ')}`);
const server = await aDatabase(options.database);
const seen: { readonly processes: number; readonly jobsPerMinute: number; readonly cpuMs: number }[] = [];
try {
  for (let round = 0; round < (rounds ?? 1); round += 1) {
    for (const processes of round % 2 === 0 ? [1, cores.length] : [cores.length, 1]) {
      const figures = await measure(`bench_${round}_${processes}`, cores.slice(0, processes));
      seen.push({ processes, ...figures });
      console.log(JSON.stringify({ round, processes, ...figures }));
    }
  }
} finally {
  await server.close();
}
const of = (processes: number, figure: 'jobsPerMinute' | 'cpuMs') =>
  median(seen.filter((each) => each.processes === processes).map((each) => each[figure]));
console.table({
  'jobs a minute': {
    one: of(1, 'jobsPerMinute').toFixed(1),
    all: of(cores.length, 'jobsPerMinute').toFixed(1),
    ratio: (of(cores.length, 'jobsPerMinute') / of(1, 'jobsPerMinute')).toFixed(2),
  },
  // On a machine that others use, this tells what they can't change.
  'processor ms for a job': {
    one: of(1, 'cpuMs').toFixed(0),
    all: of(cores.length, 'cpuMs').toFixed(0),
    ratio: (of(cores.length, 'cpuMs') / of(1, 'cpuMs')).toFixed(2),
  },
});

/** Trains the jobs, in a schema of their own, from the first that runs to the last that is READY. */
async function measure(schema: string, pinnedTo: readonly string[]) {
  const database = { connectionString: server.connectionString, schema };
  await createJobs(database, { count: count ?? 1, epochs: epochs ?? 1 });
  const trainers = await Promise.all(pinnedTo.map((core) => TrainerProcess.start(database, core)));
  try {
    const ms = await whenAllReady(new Database(server.connectionString, { schema }), count ?? 1);
    const cpuMs = trainers.reduce((sum, trainer) => sum + trainer.cpuMs(), 0);
    return {
      jobsPerMinute: Math.round((600_000 * (count ?? 1)) / ms) / 10,
      cpuMs: Math.round(cpuMs / (count ?? 1)),
    };
  } finally {
    await Promise.all(trainers.map((trainer) => trainer.stop()));
  }
}
