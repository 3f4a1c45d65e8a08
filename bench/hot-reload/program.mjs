/** Loads a model again and again, as a development server does, and never closes one: `program.mjs <library> <model> <loads> <isolation>`. */
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const [library, name, loads, isolation] = process.argv.slice(2);
const { loadModel } = await import(library);

let threads = 0;
process.on('worker', (worker) => {
  threads += 1;
  worker.once('exit', () => (threads -= 1));
});
/** Of the process with those of the system's and the runtime's own; 0 where the system doesn't list them. */
const tasks = () => (process.platform === 'linux' ? readdirSync('/proc/self/task').length : 0);

async function load() {
  const loaded = await loadModel(name, { isolation });
  if (loaded.isErr()) throw loaded.error;
  const answer = await loaded.value.predict('a fine film');
  if (answer.isErr()) throw answer.error;
}

const after = [];
for (let number = 0; number < Number(loads); number += 1) {
  await load();
  globalThis.gc?.();
  await delay(20); // what garbage collection closes ends
  after.push({ rss: process.memoryUsage.rss(), threads, tasks: tasks() });
}
console.log(JSON.stringify(after));
process.exit();
