import { z } from 'zod';
import { ResultsFile } from '../results-file.js';

export const PEERS = ['none', 'sklearn', 'setfit'] as const;

export interface Options {
  readonly root: string;
  /** Test rows; Infinity for all. */
  readonly test: number;
  readonly peers: (typeof PEERS)[number];
  readonly threads: number;
  readonly python: string;
}

/** One seed of one set. Shares from 0 to 1; those that a model doesn't state are missing. */
const resultSchema = z.object({
  set: z.string(),
  /** Per class, or in all where there are no classes. */
  rows: z.int(),
  seed: z.int(),
  /** The options that decide what is measured. */
  setting: z.string(),
  testRows: z.int(),
  /** Accuracy, top-1 or F1 on the test rows, by method; `train()` is the first. */
  figures: z.record(z.string(), z.number()),
  /** Of training, by method. */
  seconds: z.record(z.string(), z.number()),
  /** The model's calibration error, its own figure, whether its interval holds the test accuracy, and its method. */
  ece: z.number().optional(),
  own: z.number().optional(),
  held: z.boolean().optional(),
  method: z.string().optional(),
  machine: z.string(),
});
export type Result = z.infer<typeof resultSchema>;
/** What a measurement finds. */
export type Measured = Omit<Result, 'set' | 'rows' | 'seed' | 'setting' | 'machine'>;

const KEY = ['set', 'rows', 'seed', 'setting'] as const;

type Cell = Pick<Result, (typeof KEY)[number]>;
export const isSameCell = (a: Cell, b: Cell): boolean => KEY.every((key) => a[key] === b[key]);

export const resultsIn = (file: string): ResultsFile<Result> => new ResultsFile(file, resultSchema, isSameCell);

/** A line of the table: the seeds of one set and number of rows. */
export function summary(results: readonly Result[]): Record<string, string | number | undefined> {
  const methods = [...new Set(results.flatMap(({ figures }) => Object.keys(figures)))];
  const of = (key: 'figures' | 'seconds', method: string) => results.flatMap((each) => each[key][method] ?? []);
  const figures = methods.map((method) => {
    const found = of('figures', method);
    return [method, `${percent(mean(found))} ± ${percent(standardError(found))}`];
  });
  const seconds = methods.flatMap((method) => {
    const found = of('seconds', method);
    return found.length === 0 ? [] : [[`${method} (s)`, mean(found).toFixed(1)]];
  });
  const stated = <Value>(read: (result: Result) => Value | undefined) => results.flatMap((each) => read(each) ?? []);
  const ratios = stated(({ seconds: { SetFit, 'train()': ours } }) => SetFit && ours && ours / SetFit);
  const held = stated((result) => result.held);
  const chosen = stated(({ method }) => method);
  return {
    set: results[0]?.set,
    rows: results[0]?.rows,
    seeds: results.length,
    'test rows': results[0]?.testRows,
    ...Object.fromEntries(figures),
    ECE: decimals(stated(({ ece }) => ece)),
    'own figure': percent(mean(stated(({ own }) => own))),
    'interval holds': held.length === 0 ? '–' : `${held.filter(Boolean).length} of ${held.length}`,
    method: [...new Set(chosen)].map((each) => `${each} ${chosen.filter((one) => one === each).length}×`).join(', '),
    ...Object.fromEntries(seconds),
    'train() / SetFit (s)': ratios.length === 0 ? '–' : mean(ratios).toFixed(2),
  };
}

const decimals = (values: readonly number[]): string => (values.length === 0 ? '–' : mean(values).toFixed(3));
export const percent = (share: number): string => (Number.isNaN(share) ? '–' : (100 * share).toFixed(1));
/** NaN of no values. */
export const mean = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length;

/** Sample standard deviation over √n; NaN below two values. */
function standardError(values: readonly number[]): number {
  const middle = mean(values);
  const squares = values.reduce((sum, each) => sum + (each - middle) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1) / values.length);
}
