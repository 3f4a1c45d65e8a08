import { fileStorage, Predictor } from 'orchard-nlp';
import { account } from '../account.js';
import { cycles } from './cycles.js';
import { latencyAtLoad } from './latency-at-load.js';
import { type Mode, type ModeName, taskSchema } from './mode.js';
import { overload } from './overload.js';
import { profile } from './profile.js';
import { soak } from './soak.js';

/** Measures Orchard alone, in a process that has done nothing else, and prints the rows as JSON. */

const modes: Readonly<Record<ModeName, Mode>> = {
  profile,
  soak,
  cycles,
  overload,
  'latency-at-load': latencyAtLoad,
};

const task = taskSchema.parse(JSON.parse(process.argv[2] ?? ''));
const rows = await modes[task.mode](
  task,
  (options = undefined) =>
    new Predictor({ storage: fileStorage(task.storage), account, workers: task.workers, ...options }),
);
process.stdout.write(JSON.stringify(rows));
