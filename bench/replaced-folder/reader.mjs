/** Loads a folder again and again, which another process replaces: `reader.mjs <library> <folder> <scratch> <loads> <every>`. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const [library, folder, scratch, loads, every] = process.argv.slice(2);
const { loadModel } = await import(library);
const TEXT = 'it is good';
/** Longer than the folder stays as it is. */
const WAIT_MS = 400;

const seen = { answers: {}, mixed: 0, errors: {}, cards: 0, saves: 0, wrongCards: 0, wrongSaves: 0 };
const count = (counts, key) => {
  counts[key] = (counts[key] ?? 0) + 1;
};

async function value(result) {
  const awaited = await result;
  if (awaited.isErr()) throw awaited.error;
  return awaited.value;
}

async function load(number) {
  const model = await value(loadModel(folder));
  try {
    const { label } = await value(model.predict(TEXT));
    count(seen.answers, label);
    if (!label.endsWith('GOOD')) seen.mixed += 1;
    if (number % every !== 0) return;
    await delay(WAIT_MS);
    const card = await value(model.card());
    seen.cards += 1;
    if (!model.labels.every((each) => card.includes(each))) seen.wrongCards += 1;
    const copy = join(scratch, `${number}`);
    await value(model.save(copy));
    const saved = await value(loadModel(copy));
    const again = await value(saved.predict(TEXT));
    await saved.close();
    await rm(copy, { recursive: true });
    seen.saves += 1;
    if (again.label !== label) seen.wrongSaves += 1;
  } finally {
    await model.close();
  }
}

for (let number = 1; number <= Number(loads); number += 1) {
  await load(number).catch((error) => count(seen.errors, String(error).replaceAll(folder, '…')));
}
console.log(JSON.stringify(seen));
