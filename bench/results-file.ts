import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

/** Results in a JSON file that is written after each, so that a measurement that was stopped goes on with the next. */
export class ResultsFile<R> {
  readonly #file: string;
  readonly #isSame: (a: R, b: R) => boolean;
  readonly #all: R[];

  /** @param isSame whether two results are of the same cell, so that the later one replaces the earlier. */
  constructor(file: string, schema: z.ZodType<R>, isSame: (a: R, b: R) => boolean) {
    this.#file = file;
    this.#isSame = isSame;
    this.#all = existsSync(file) ? z.array(schema).parse(JSON.parse(readFileSync(file, 'utf8'))) : [];
  }

  get all(): readonly R[] {
    return this.#all;
  }

  add(result: R): void {
    const at = this.#all.findIndex((each) => this.#isSame(each, result));
    if (at === -1) this.#all.push(result);
    else this.#all[at] = result;
    writeFileSync(`${this.#file}.new`, `${JSON.stringify(this.#all, undefined, 2)}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
