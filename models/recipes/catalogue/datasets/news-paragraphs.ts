import { join } from 'node:path';
import { nonBlankLines, readText } from '../../../../bench/datasets/files.js';

/** Shortest and longest paragraph, in UTF-16 code units: shorter ones are headings and dates. */
const SHORTEST = 60;
const LONGEST = 600;

/** Paragraphs of news reports that have no labels. */
export const newsParagraphs = (datasets: string): string[] =>
  nonBlankLines(readText(join(datasets, 'pretrain_text'), 'en_wikinews.txt'))
    .map((paragraph) => paragraph.trim())
    .filter(({ length }) => length >= SHORTEST && length <= LONGEST);
