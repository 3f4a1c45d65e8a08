import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { TrainingIsolation, TrainingRequest } from 'orchard-nlp';
import { expect, it, onTestFinished } from 'vitest';
import { type JobRecord, JobRepository } from '../../src/jobs/index.js';
import { fileStorage } from '../../src/storage/index.js';
import { sentimentRequest } from '../public/sentiments.js';
import { aDirectory } from '../storage/temporary-place.js';
import { Chance } from './chance.js';
import { LiveProcess } from './live-process.js';

/**
 * kill -9 at random points of download, training, checkpoint, export, loading, answering and deleting, of one and two
 * processes on the same storage, that train in a worker thread or a child process. `CRASH_KILLS` says how many (default
 * 3, in npm run test:crash 200), `CRASH_SEED` which (default 1). The first job is killed five times more, before it has a
 * checkpoint.
 */

const KILLS = Number(process.env.CRASH_KILLS ?? 3);
const SEED = Number(process.env.CRASH_SEED ?? 1);
/** What may be left is looked for this long. */
const MINUTE_MS = 60_000;
/** A job whose process died this often must not be killed again: the next time ends it in ERROR. */
const MAX_ATTEMPTS = 10;
/** Kills of the first job before it has a checkpoint. */
const EARLY_KILLS = 5;
const WITHOUT_DEATH_MS = 120_000;

/** What a process says when a stage begins, and how often, and how long the stage may take, in milliseconds. */
interface Stage {
  readonly says: string;
  readonly upTo: number;
  readonly maxMs: number;
}

const STAGES: readonly [Stage, ...Stage[]] = [
  { says: 'begin', upTo: 1, maxMs: 400 },
  { says: 'create', upTo: 1, maxMs: 60 },
  { says: 'created', upTo: 1, maxMs: 60 },
  { says: 'phase download', upTo: 1, maxMs: 250 },
  { says: 'phase prepare', upTo: 1, maxMs: 200 },
  { says: 'phase train', upTo: 1, maxMs: 150 },
  { says: 'epoch', upTo: 3, maxMs: 150 },
  { says: 'phase export', upTo: 1, maxMs: 300 },
  { says: 'load', upTo: 1, maxMs: 300 },
  { says: 'answered', upTo: 1, maxMs: 50 },
  { says: 'delete', upTo: 1, maxMs: 30 },
  { says: 'deleted', upTo: 1, maxMs: 20 },
];

it(`loses nothing to ${KILLS} kills`, { timeout: 300_000 + KILLS * 60_000 }, async () => {
  const chance = new Chance(SEED);
  const directory = join(await aDirectory(), 'storage');
  const temporary = await aDirectory();
  const request = await servedRequest();
  const expected = await undisturbed(request);
  if (process.env.CRASH_LOG !== undefined) console.log(new Date().toISOString(), 'undisturbed');
  const jobs = new JobRepository(fileStorage(directory), 'local');
  const start = (isolation: TrainingIsolation, count: number) =>
    new LiveProcess({ directory, isolation, request, jobs: count }, temporary);
  const created = new Set<string>();
  const errors: string[] = [];

  for (let kills = 0; kills < EARLY_KILLS; kills += 1) {
    const one = start(chance.of(['worker', 'process']), kills === 0 ? 1 : 0);
    await one.says('phase download', 1);
    await delay(chance.below(100));
    await one.kill(chance.below(2) === 0);
    tell(kills + 1, 'phase download', one);
    errors.push(...complaints(one));
    for (const id of said(one, 'created')) created.add(id);
  }
  for (let kills = 0; kills < KILLS; ) {
    const processes = chance.below(10) < 4 ? 2 : 1;
    const living = Array.from({ length: Math.min(processes, KILLS - kills) }, () => {
      return start(chance.of(['worker', 'process']), 2);
    });
    for (const each of living) {
      const stage = chance.of(STAGES);
      await each.says(stage.says, 1 + chance.below(stage.upTo));
      await delay(chance.below(stage.maxMs));
      await untilNoneMayFail(jobs, each);
      await each.kill(chance.below(2) === 0);
      kills += 1;
      tell(kills, stage.says, each);
      errors.push(...complaints(each));
      for (const id of said(each, 'created')) created.add(id);
      for (const weights of said(each, 'weights')) expect(weights).toBe(expected);
    }
  }

  const last = start('worker', 1);
  await last.ended;
  errors.push(...complaints(last));
  for (const id of said(last, 'created')) created.add(id);
  expect(last.lines.at(-1)).toBe('end');
  expect(errors).toEqual([]);
  await expectAllWell(directory, [...created], expected);
  await expectNothingLeft(directory, temporary);
});

/** With `CRASH_LOG` set, what was killed when. */
function tell(kills: number, stage: string, { lines }: LiveProcess): void {
  if (process.env.CRASH_LOG !== undefined) console.log(new Date().toISOString(), kills, stage, lines.slice(-3));
}

/** A small training whose archive comes slowly. */
async function servedRequest(): Promise<TrainingRequest> {
  const request = await sentimentRequest(await aDirectory(), { num_epochs: 3 });
  const archive = await readFile(fileURLToPath(request.dataset_url));
  const server = createServer(async (_, response) => {
    response.setHeader('content-length', archive.length);
    response.write(archive.subarray(0, 1000));
    await delay(150);
    response.end(archive.subarray(1000));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { ...request, dataset_url: `http://127.0.0.1:${port}/sentiments.zip` };
}

/** The weights of a training that nobody kills. */
async function undisturbed(request: TrainingRequest): Promise<string> {
  const directory = await aDirectory();
  const alone = new LiveProcess({ directory, isolation: 'worker', request, jobs: 1 }, await aDirectory());
  await alone.ended;
  expect(alone.errors).toBe('');
  const [id = ''] = said(alone, 'created');
  return weightsOf(directory, id);
}

async function weightsOf(directory: string, id: string): Promise<string> {
  const folder = (await fileStorage(directory).openFolder(id)) ?? 'no folder';
  return createHash('sha256')
    .update(await readFile(join(folder, 'model.safetensors')))
    .digest('hex');
}

/** Waits while a job is in its last attempt, as long as the process lives. */
async function untilNoneMayFail(jobs: JobRepository, { ended, hasEnded }: LiveProcess): Promise<void> {
  const isOver = hasEnded ? Promise.resolve() : ended;
  const deadline = performance.now() + WITHOUT_DEATH_MS;
  const mayFail = ({ attempts }: JobRecord) => (attempts?.count ?? 0) >= MAX_ATTEMPTS;
  while ((await jobs.unfinished()).some(mayFail)) {
    if (performance.now() > deadline) throw new Error('a job in its last attempt does not come to its end');
    await Promise.race([delay(50), isOver]);
  }
}

function said({ lines }: LiveProcess, word: string): string[] {
  return lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
}

/** What a process said that it should not have. */
function complaints({ lines, errors }: LiveProcess): string[] {
  const wrong = lines.filter((line) => /^(refused|kept) (?!not_found)|ERROR|CANCELLED/.test(line));
  return errors === '' ? wrong : [...wrong, errors];
}

async function expectAllWell(directory: string, created: string[], expected: string): Promise<void> {
  const repository = new JobRepository(fileStorage(directory), 'local');
  const data = await allOf(repository);
  const gone = (await allOf(repository, 'DELETED')).map(({ id }) => id);
  expect(data.filter(({ status }) => status !== 'READY')).toEqual([]);
  expect(data.length).toBeGreaterThan(0);
  for (const { id } of data) expect(await weightsOf(directory, id)).toBe(expected);
  const known = new Set([...gone, ...data.map(({ id }) => id)]);
  expect(created.filter((id) => !known.has(id))).toEqual([]);
}

/** All jobs of a state, page by page. Default: those that were not deleted. */
async function allOf(repository: JobRepository, trainingStatus?: 'DELETED'): Promise<JobRecord[]> {
  const found: JobRecord[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const options = { limit: 100, ...(trainingStatus && { trainingStatus }), ...(cursor && { cursor }) };
    const { data, pagination } = await repository.page(options);
    found.push(...data);
    cursor = pagination.next_cursor;
  }
  return found;
}

async function expectNothingLeft(directory: string, temporary: string): Promise<void> {
  const storage = fileStorage(directory);
  const { data } = await new JobRepository(storage, 'local').page({ limit: 100 });
  const folders = data.map(({ id }) => `${id}/published-1`).sort();
  const deadline = performance.now() + MINUTE_MS;
  for (;;) {
    await storage.list('jobs');
    const left = {
      locks: await readdir(join(directory, 'locks')),
      temporary: await readdir(join(directory, 'temporary')),
      trash: await readdir(join(directory, 'trash')).catch(() => []),
      drafts: (await readdir(directory, { recursive: true })).filter((name) => /draft/.test(name)),
      system: (await readdir(temporary)).filter((name) => name.startsWith('orchard-')),
      open: await new JobRepository(storage, 'local').unfinished(),
      removals: await storage.listKeys('job-index', { prefix: 'local/left/' }),
      folders: await foldersIn(join(directory, 'folders')),
    };
    const none = { locks: [], temporary: [], trash: [], drafts: [], system: [], open: [], removals: [] };
    const clean = { ...none, folders };
    if (JSON.stringify(left) === JSON.stringify(clean)) return;
    if (performance.now() > deadline) return expect(left).toEqual(clean);
    await delay(1000);
  }
}

async function foldersIn(path: string): Promise<string[]> {
  await mkdir(path, { recursive: true });
  const homes = await readdir(path);
  const inside = await Promise.all(
    homes.map(async (home) => (await readdir(join(path, home))).map((name) => `${home}/${name}`)),
  );
  return inside.flat().sort();
}
