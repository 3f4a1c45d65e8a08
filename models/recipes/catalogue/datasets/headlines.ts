import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { readText } from '../../../../bench/datasets/files.js';
import type { LabelledText } from '../recipe.js';

/** Headlines whose companies and goods are all judged alike (Sinha et al. 2022). */
export function readHeadlines(datasets: string): LabelledText[] {
  return judgedHeadlines(datasets).flatMap(({ text, judgements: [label, ...others] }) =>
    label === undefined || others.length > 0 ? [] : [{ text, labels: [label] }],
  );
}

/** Headlines that are good for one company and not for another: none of the three labels fits all of one. */
export function readMixedHeadlines(datasets: string): string[] {
  return judgedHeadlines(datasets).flatMap(({ text, judgements }) => (judgements.length > 1 ? [text] : []));
}

/** Judgements are read with a pattern, since some rows are not valid literals of any language. */
function judgedHeadlines(datasets: string): { readonly text: string; readonly judgements: readonly string[] }[] {
  const content = readText(join(datasets, 'sentfin'), 'SEntFiN.csv');
  const records: Record<'Title' | 'Decisions', string>[] = parse(content, { columns: true, bom: true });
  return records.flatMap((record) => {
    const found = record.Decisions.matchAll(/:\s*['"](negative|neutral|positive)['"]/gu);
    const judgements = [...new Set(Array.from(found, ([, judgement = '']) => judgement))];
    const text = record.Title.trim();
    return text === '' ? [] : [{ text, judgements }];
  });
}
