import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ResultAsync } from 'neverthrow';
import { AbortedError, type OrchardError } from '../../../src/contract/errors.js';
import type { Clock } from '../../../src/jobs/clock.js';
import { Trainer } from '../../../src/jobs/index.js';
import { withInternals } from '../../../src/jobs/trainer-options.js';
import { fileStorage } from '../../../src/storage/index.js';
import type { TrainingHost } from '../../../src/training/index.js';
import { statsAfter } from '../../jobs/fake-host.js';
import { aRequest } from '../../jobs/request.js';

/**
 * One of the processes of races-processes.test.ts: makes calls at random on the jobs of a storage, several at a time, and
 * says what came of each and when its runs began and ended, as a line of JSON each.
 * Arguments: the storage's directory, a seed, how many calls.
 */

const TOGETHER = 5;
/** How much faster than real time leases run out and heartbeats come. */
const SPEED = 2;

const [directory = '', seedText = '', count = ''] = process.argv.slice(2);
let state = Number(seedText);

/** 0 to 1; mulberry32. */
function random(): number {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

const clock: Clock = {
  now: () => Date.now() * SPEED,
  elapsed: () => performance.now() * SPEED,
  every(intervalMs, work) {
    const timer = setInterval(() => void work(), intervalMs / SPEED);
    timer.unref();
    return () => clearInterval(timer);
  },
};

/** Trains for some milliseconds. */
const host: TrainingHost = {
  async run({ id, directory: folder }, { signal }) {
    const from = Date.now();
    try {
      await delay(random() * 60, undefined, { signal });
      await writeFile(join(folder, 'model.safetensors'), 'weights');
      return statsAfter(1);
    } catch (cause) {
      throw new AbortedError(`training job ${id}`, { cause });
    } finally {
      say({ run: id, from, to: Date.now() });
    }
  },
  close: async () => undefined,
};

const storage = fileStorage(directory);
const trainer = new Trainer(withInternals({ storage, host, maxWaitingJobs: 1000 }, { clock }));

async function operate(): Promise<void> {
  const kind = random();
  if (kind < 0.35) {
    const idempotencyKey = random() < 0.3 ? `key ${Math.floor(random() * 3)}` : undefined;
    const created = await trainer.createTrainingJob(aRequest, idempotencyKey === undefined ? {} : { idempotencyKey });
    return say({
      call: 'create',
      outcome: created.isOk() ? 'ok' : created.error.code,
      id: created.unwrapOr({ id: '' }).id,
      ...(idempotencyKey !== undefined && { key: idempotencyKey }),
    });
  }
  const { data } = (await trainer.listTrainingJobs({ limit: 100 }))._unsafeUnwrap();
  const id = data[Math.floor(random() * data.length)]?.model.id;
  if (id === undefined) return;
  if (kind < 0.55) say({ call: 'cancel', id, outcome: await codeOf(trainer.cancelTrainingJob(id)) });
  else if (kind < 0.8) say({ call: 'delete', id, outcome: await codeOf(trainer.deleteModel(id)) });
  else say({ call: 'get', id, outcome: await codeOf(trainer.getTrainingJob(id)) });
}

async function codeOf(call: ResultAsync<unknown, OrchardError>): Promise<string> {
  const outcome = await call;
  return outcome.isOk() ? 'ok' : outcome.error.code;
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const calls = Array.from({ length: TOGETHER }, async (_, at) => {
  for (let n = at; n < Number(count); n += TOGETHER) await operate();
});
await Promise.all(calls);
await trainer.close();
await storage.close();
