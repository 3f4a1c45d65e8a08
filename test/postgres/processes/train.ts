import { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Storage, Trainer, type TrainingRequest } from 'orchard-nlp';
import { postgresStorage } from 'orchard-nlp/postgres';

/**
 * `train.ts <settings>`: a trainer as one machine has it, on a PostgreSQL database. Creates a job if it is given a request,
 * and follows those that have not ended, until it is killed or all have. Says what happens, a line each.
 */

interface Settings {
  readonly connectionString: string;
  readonly schema: string;
  readonly cache: string;
  readonly request?: TrainingRequest;
  readonly checkpointIntervalMs: number;
  /** Whether it does nothing more once a checkpoint is saved: however late it is killed, that one is the last. */
  readonly stopsWhenSaved?: boolean;
}

const settings: Settings = JSON.parse(process.argv[2] ?? '');
const { connectionString, schema, cache, request, checkpointIntervalMs, stopsWhenSaved } = settings;
const say = (...words: readonly unknown[]) => writeSync(1, `${words.join(' ')}\n`);
/** The processes that train. */
const runners: ChildProcess[] = [];
subscribe('child_process', (started) => {
  if (isObject(started) && 'process' in started && started.process instanceof ChildProcess) {
    runners.push(started.process);
  }
});

const storage = tellingOfSaves(postgresStorage(connectionString, { schema, cache }));
// A process, which can be stopped while its checkpoint is saved; a thread would go on.
const trainer = new Trainer({ storage, threads: 1, seed: 7, checkpointIntervalMs, isolation: 'process' });
if (request !== undefined) (await trainer.createTrainingJob(request))._unsafeUnwrap();
const { data } = (await trainer.listModels())._unsafeUnwrap();
for (const { id } of data) {
  for await (const event of trainer.watch(id)) {
    if (event.type === 'epoch') say('epoch', event.stats.epoch);
    if (event.type === 'state') say('state', event.status);
  }
  const folder = (await storage.openFolder(id)) ?? 'no folder';
  const weights = await readFile(join(folder, 'model.safetensors'));
  say('weights', createHash('sha256').update(weights).digest('hex'));
}
await trainer.close();
await storage.close();

function tellingOfSaves(storage: Storage): Storage {
  const save = storage.saveStaged?.bind(storage);
  storage.saveStaged = async (key) => {
    // The training would go on meanwhile, and a slow save could take until its end.
    if (stopsWhenSaved) signalRunners('SIGSTOP');
    await save?.(key);
    say('saved', key);
    if (!stopsWhenSaved) return;
    // They find out that this process is gone only while they run.
    signalRunners('SIGCONT');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };
  return storage;
}

function signalRunners(signal: NodeJS.Signals): void {
  for (const runner of runners) runner.kill(signal);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
