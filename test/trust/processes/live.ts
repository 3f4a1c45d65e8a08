import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileStorage, Predictor, Trainer, type TrainingIsolation, type TrainingRequest } from 'orchard-nlp';

/**
 * `live.ts <settings>`: trains one model after the other in a storage, asks each, and deletes earlier ones, until it is
 * killed or told to end. Says what it is about to do and has done, a line each.
 */

interface Settings {
  readonly directory: string;
  readonly isolation: TrainingIsolation;
  readonly request: TrainingRequest;
  /** How many jobs to create; those that are left by others come first. */
  readonly jobs: number;
}

const { directory, isolation, request, jobs }: Settings = JSON.parse(process.argv[2] ?? '');
const say = (...words: readonly string[]) => writeSync(1, `${words.join(' ')}\n`);

const storage = fileStorage(directory);
const trainer = new Trainer({ storage, isolation, threads: 1, seed: 7, checkpointIntervalMs: 0 });
const predictor = new Predictor({ storage });

/** Watches a job until it has ended. */
async function follow(id: string): Promise<void> {
  let phase = '';
  for await (const event of trainer.watch(id)) {
    if (event.type === 'state') say('state', id, event.status);
    if (event.type === 'epoch') say('epoch', id);
    if (event.type === 'progress' && event.phase !== phase) {
      phase = event.phase;
      say('phase', phase);
    }
  }
}

async function models() {
  return (await trainer.listModels({ limit: 100 }))._unsafeUnwrap().data;
}

async function finishOthers(): Promise<void> {
  const waiting = (await models()).filter(({ training_status }) =>
    ['CREATED', 'QUEUED', 'RUNNING'].includes(training_status),
  );
  for (const { id } of waiting.reverse()) await follow(id);
}

async function ask(id: string): Promise<void> {
  const folder = (await storage.openFolder(id)) ?? 'no folder';
  const weights = await readFile(join(folder, 'model.safetensors')).catch(() => '');
  say('weights', createHash('sha256').update(weights).digest('hex'));
  say('load', id);
  const answer = await predictor.predictCustom(id, 'the lamp works perfectly');
  say(answer.isOk() ? 'answered' : `refused ${answer.error.code}`, id);
}

async function deleteOld(): Promise<void> {
  const ready = (await models()).filter(({ training_status }) => training_status === 'READY');
  for (const { id } of ready.slice(2)) {
    say('delete', id);
    const deleted = await trainer.deleteModel(id);
    say(deleted.isOk() ? 'deleted' : `kept ${deleted.error.code}`, id);
  }
}

say('begin');
await finishOthers();
for (let job = 0; job < jobs; job++) {
  say('create');
  const { id } = (await trainer.createTrainingJob(request))._unsafeUnwrap();
  say('created', id);
  await follow(id);
  await ask(id);
  await deleteOld();
}
await finishOthers();
say('end');
await predictor.close();
await trainer.close();
await storage.close();
