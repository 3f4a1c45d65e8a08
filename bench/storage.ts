import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { modelTypes, trainingJobStatuses } from '../src/contract/index.js';
import { taskOf } from '../src/families/index.js';
import { JobRepository, moved } from '../src/jobs/index.js';
import { fileStorage } from '../src/storage/index.js';
import { replaceFile } from '../src/system/index.js';
import { machine, quantile } from './report.js';
import { aJob, app_id, writeManyJobs } from './storage/many-jobs.js';

/**
 * What an account with many jobs waits for in a `fileStorage`: the first page of its jobs, and creating a
 * job, which counts the waiting ones.
 * Usage: `npm run bench -- storage [--jobs 100000] [--spacing-ms 300000] [--waiting 10] [--calls 500]
 * [--folder <where>]`.
 */

const { values: options } = parseArgs({
  options: {
    jobs: { type: 'string', default: '100000' },
    'spacing-ms': { type: 'string', default: '300000' },
    waiting: { type: 'string', default: '10' },
    calls: { type: 'string', default: '500' },
    folder: { type: 'string', default: tmpdir() },
  },
});
/** Calls before the timed ones, in which the code is compiled. */
const WARM_UP_CALLS = 50;
const calls = Number(options.calls);
const count = Number(options.jobs);
const waiting = Number(options.waiting);
const spacingMs = Number(options['spacing-ms']);

const directory = mkdtempSync(join(options.folder, 'orchard-storage-'));
process.once('exit', () => removeInBackground(directory));
console.log(`${machine()}; ${count} jobs, one every ${spacingMs / 1000} s, ${waiting} of them waiting`);
writeManyJobs(directory, { count, spacingMs, waiting });

const storage = fileStorage(directory);
const jobs = new JobRepository(storage, app_id, taskOf);
const { ms } = await timed(() => jobs.page({}));
console.log(`first listing: ${ms.toFixed(0)} ms`);
/** The figures leave out the sweep of the folders at the start. */
await storage.close();

const typeAt = (call: number) => modelTypes[call % modelTypes.length] ?? 'question-answering';
const statusAt = (call: number) => trainingJobStatuses[call % trainingJobStatuses.length] ?? 'READY';
const table: Record<string, object> = {};

await measure('first page', () => jobs.page({}));
await measure('first page by modelType', (call) => jobs.page({ modelType: typeAt(call) }));
await measure('first page by trainingStatus', (call) => jobs.page({ trainingStatus: statusAt(call) }));
await measure('first page by both', (call) => jobs.page({ modelType: typeAt(call), trainingStatus: statusAt(call) }));
await measure('waiting jobs counted', () => jobs.countWaiting());
await measure(
  'job created, waiting ones counted before',
  async (call) => {
    await jobs.countWaiting();
    const job = aJob({ status: 'CREATED', type: typeAt(call), created: Date.now() });
    await jobs.create(job);
    return job.id;
  },
  async (id) => void (await jobs.update(id, (job) => moved(job, 'CANCELLED'))),
);
const file = join(directory, 'one-file');
await measure('for comparison: a file written and flushed', () => replaceFile(file, 'x'.repeat(1000)));
console.table(table);

/** Times calls one after the other. @param undo brings the storage back to what it was; not timed */
async function measure<T>(
  name: string,
  call: (index: number) => Promise<T>,
  undo: (result: T) => Promise<void> = async () => undefined,
): Promise<void> {
  const times: number[] = [];
  for (let index = -WARM_UP_CALLS; index < calls; index += 1) {
    const { ms, value } = await timed(() => call(Math.abs(index)));
    if (index >= 0) times.push(ms);
    await undo(value);
  }
  table[name] = { 'p50 ms': round(quantile(times, 0.5)), 'p99 ms': round(quantile(times, 0.99)) };
}

/** Half a million files take minutes where the disk is told of each block that becomes free. */
function removeInBackground(directory: string): void {
  const script = 'require("node:fs").rmSync(process.argv[1], { recursive: true, force: true })';
  const removal = spawn(process.execPath, ['-e', script, directory], { detached: true, stdio: 'ignore' });
  if (removal.pid !== undefined) setPriority(removal.pid, constants.priority.PRIORITY_LOW);
  removal.unref();
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const start = performance.now();
  const value = await work();
  return { ms: performance.now() - start, value };
}

function round(ms: number): number {
  return Number(ms.toFixed(1));
}
