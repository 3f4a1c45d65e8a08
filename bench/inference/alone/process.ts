import { folderModels, memoryStorage, Predictor, type PredictorOptions } from 'orchard-nlp';
import { cycles, overload, soak } from './memory.js';
import { engines, latencyAtLoad, profile } from './time.js';

/**
 * Measures Orchard alone, in a process that has done nothing else, and prints the rows as JSON: `process.ts <mode>
 * <amount> <folder of models> <workers>`.
 */

/** Rows of a table by their names, each with its cells by theirs. */
export type Rows = Record<string, Record<string, number | string>>;

/** @param amount that came with the option. @param open a predictor on the models; whoever opens one closes it. */
export type Mode = (amount: number, open: OpenPredictor) => Promise<Rows>;
type OpenPredictor = (options?: Pick<PredictorOptions, 'memoryLimit' | 'runtime'>) => Predictor;

const modes: Readonly<Record<string, Mode>> = {
  profile,
  soak,
  cycles,
  overload,
  engines,
  'latency-at-load': latencyAtLoad,
};

const [mode = '', amount = '', folder = '', workers = ''] = process.argv.slice(2);
const rows = await modes[mode]?.(
  Number(amount),
  (options) =>
    new Predictor({
      storage: memoryStorage(),
      modelLoader: folderModels(folder),
      workers: Number(workers),
      ...options,
    }),
);
process.stdout.write(JSON.stringify(rows));
