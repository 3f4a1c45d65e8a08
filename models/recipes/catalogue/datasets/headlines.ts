import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { readText } from '../../../../bench/datasets/files.js';
import type { LabelledText } from '../recipe.js';

/**
 * Headlines whose companies and goods are all judged alike (Sinha et al. 2022). Judgements are read with a
 * pattern, since some rows are not valid literals of any language.
 */
export function readHeadlines(datasets: string): LabelledText[] {
  const content = readText(join(datasets, 'sentfin'), 'SEntFiN.csv');
  const records: Record<'Title' | 'Decisions', string>[] = parse(content, { columns: true, bom: true });
  return records.flatMap((record) => {
    const found = record.Decisions.matchAll(/:\s*['"](negative|neutral|positive)['"]/gu);
    const [label, ...others] = new Set(Array.from(found, ([, judgement = '']) => judgement));
    const text = record.Title.trim();
    return label === undefined || others.length > 0 || text === '' ? [] : [{ text, labels: [label] }];
  });
}
