import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { ResultsFile } from '../results-file.js';
import { type Cell, cellSchema, type Figures, figuresSchema } from './cell.js';

/** The results of earlier runs, in a JSON file, and the table of all of them. */

const resultSchema = z.object({ cell: cellSchema, figures: figuresSchema, machine: z.string() });
type Result = z.infer<typeof resultSchema>;

export const resultsIn = (file: string): ResultsFile<Result> =>
  new ResultsFile(file, resultSchema, (a, b) => isDeepStrictEqual(a.cell, b.cell));

/** One line for each cell, as Markdown. */
export function resultTable(results: readonly Result[]): string {
  const header = ['backbone', 'dataset', 'training rows', 'test rows', 'learning rate', 'epochs', 'measure', 'encoder'];
  const columns = [...header, 'blended', 'processor s', 'GiB'];
  const lines = results.map(({ cell, figures }) => lineOf(cell, figures));
  return [columns, columns.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
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
