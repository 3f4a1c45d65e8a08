import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { orThrow } from '../../src/contract/index.js';
import { type Model, train } from '../../src/index.js';

export interface Readings {
  /** The address of a build of the package. */
  readonly library: string;
  readonly directory: string;
  readonly readers: number;
  /** Of each reader. */
  readonly loads: number;
  /** One load in so many is kept until the folder is replaced, and its card is read and its model saved then. */
  readonly keepEvery: number;
  readonly everyMs: number;
}

/** What one process has seen. */
export interface Seen {
  /** How often each label was the answer. */
  readonly answers: Readonly<Record<string, number>>;
  /** Answers with the label of the other model. */
  readonly mixed: number;
  /** How often each message was the error. */
  readonly errors: Readonly<Record<string, number>>;
  readonly cards: number;
  readonly saves: number;
  /** Cards of another model than the one that was loaded. */
  readonly wrongCards: number;
  /** Saved models that answer otherwise than the one that was loaded. */
  readonly wrongSaves: number;
}

/** Processes load a folder while two models with opposite labels replace each other in it. */
export async function readReplaced(readings: Readings): Promise<{ readonly saves: number; readonly seen: Seen[] }> {
  const { library, directory, readers, loads, keepEvery, everyMs } = readings;
  const folder = join(directory, 'live');
  const models = [await opposite('a-GOOD', 'b-BAD'), await opposite('b-GOOD', 'a-BAD')];
  let saves = 0;
  const save = async (model: Model) => {
    await orThrow(model.save(folder));
    saves += 1;
  };
  for (const model of models) await save(model);
  let hasEnded = false;
  const reading = Promise.all(
    Array.from({ length: readers }, async (_, reader) => {
      const scratch = join(directory, `reader ${reader}`);
      await mkdir(scratch);
      const program = fileURLToPath(new URL('reader.mjs', import.meta.url));
      const args = [program, library, folder, scratch, `${loads}`, `${keepEvery}`];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      return JSON.parse(stdout);
    }),
  ).finally(() => {
    hasEnded = true;
  });
  try {
    while (!hasEnded) {
      const model = models[saves % models.length];
      await Promise.all([model && save(model), delay(everyMs)]);
    }
    return { saves, seen: await reading };
  } finally {
    for (const model of models) await model.close();
  }
}

function opposite(good: string, bad: string): Promise<Model> {
  const rows = Array.from({ length: 20 }, (_, row) => {
    const isGood = row % 2 === 1;
    return { text: `the thing ${row} is ${isGood ? 'good' : 'bad'}`, label: isGood ? good : bad };
  });
  return orThrow(train({ rows, effort: 'quick' }));
}
