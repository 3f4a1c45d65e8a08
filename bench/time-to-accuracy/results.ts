import { z } from 'zod';
import { ResultsFile } from '../results-file.js';

/** One contestant on one dataset. */
const resultSchema = z.object({
  dataset: z.string(),
  contestant: z.string(),
  /** Of the test texts, in percent. */
  accuracy: z.number(),
  /** Of training, by the clock and of all processors. */
  seconds: z.number(),
  processorSeconds: z.number(),
  /** Of the libraries. */
  versions: z.string(),
  /** Epochs and the like. */
  settings: z.string(),
  machine: z.string(),
});
export type Result = z.infer<typeof resultSchema>;

export const resultsIn = (file: string): ResultsFile<Result> =>
  new ResultsFile(file, resultSchema, (a, b) => a.dataset === b.dataset && a.contestant === b.contestant);
