import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

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

/** Results in a JSON file, so that a measurement that was interrupted goes on with the next cell. */
export class Results {
  readonly #file: string;
  readonly #all: Result[];

  constructor(file: string) {
    this.#file = file;
    this.#all = existsSync(file) ? z.array(resultSchema).parse(JSON.parse(readFileSync(file, 'utf8'))) : [];
  }

  get all(): readonly Result[] {
    return this.#all;
  }

  has(dataset: string, contestant: string): boolean {
    return this.#all.some((each) => each.dataset === dataset && each.contestant === contestant);
  }

  /** In place of an earlier one of the same cell. */
  add(result: Result): void {
    const { dataset, contestant } = result;
    const at = this.#all.findIndex((each) => each.dataset === dataset && each.contestant === contestant);
    if (at === -1) this.#all.push(result);
    else this.#all[at] = result;
    writeFileSync(`${this.#file}.new`, `${JSON.stringify(this.#all, undefined, 2)}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
