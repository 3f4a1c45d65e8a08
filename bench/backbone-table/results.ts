/** The results of earlier runs, in a JSON file, and the table of all of them. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Cell, cellSchema, type Figures, figuresSchema } from './cell.js';

const resultSchema = z.object({ cell: cellSchema, figures: figuresSchema, machine: z.string() });
export type Result = z.infer<typeof resultSchema>;

export class Results {
  readonly #file: string;
  readonly #results: Result[];

  constructor(file: string) {
    this.#file = file;
    this.#results = existsSync(file)
      ? z.array(resultSchema).parse(JSON.parse(readFileSync(file, 'utf8')))
      : [];
  }

  has(cell: Cell): boolean {
    return this.#results.some((result) => isDeepStrictEqual(result.cell, cell));
  }

  /** Written at once, so that a run that is stopped goes on where it was. */
  add(result: Result): void {
    this.#results.push(result);
    writeFileSync(`${this.#file}.new`, `${JSON.stringify(this.#results, null, 1)}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }

  /** One line for each cell, as Markdown. */
  table(): string {
    const header = [
      'backbone',
      'dataset',
      'training rows',
      'test rows',
      'learning rate',
      'epochs',
      'measure',
      'encoder',
    ];
    const columns = [...header, 'blended', 'processor s', 'GiB'];
    const lines = this.#results.map(({ cell, figures }) => lineOf(cell, figures));
    return [columns, columns.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
  }
}

function lineOf(cell: Cell, figures: Figures): (string | number)[] {
  return [
    cell.backbone,
    cell.dataset,
    cell.rows ?? 'all',
    cell.testRows ?? 'all',
    cell.learningRate ?? 'default',
    figures.epochs,
    figures.measure,
    figures.encoder ?? '',
    figures.blend,
    figures.processorSeconds,
    figures.gigabytes,
  ];
}
