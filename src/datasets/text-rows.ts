import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { counted, type ProblemList, quoted, singleProblem } from './problems.js';
import type { FoundRows } from './shapes.js';
import type { TextLine } from './text-lines.js';

/** Rows of files that are neither tables nor JSON: fastText's, questions in Markdown, and folders of brat. */

const LABEL = /^(?:__label__\S+\s+)+/u;

export function looksLikeFastText(lines: readonly TextLine[]): boolean {
  const some = lines.filter(({ text }) => text.trim() !== '').slice(0, 20);
  return some.length > 0 && some.every(({ text }) => text.trimStart().startsWith('__label__'));
}

/** `__label__a __label__b text` (Joulin et al. 2017). */
export function fastTextRows(lines: readonly TextLine[], file: string, problems: ProblemList): FoundRows {
  const filled = lines.filter(({ text }) => text.trim() !== '');
  const rows = filled.map(({ number: line, text }) => {
    const [labels = ''] = LABEL.exec(`${text.trim()} `) ?? [];
    const said = text.trim().slice(labels.length).trim();
    if (labels === '' || said === '') {
      problems.add({ file, line, found: `found ${quoted(text)}`, expected: '__label__, a label, and a text' });
    }
    return {
      text: said,
      labels: labels
        .trim()
        .split(/\s+/u)
        .map((label) => label.slice('__label__'.length)),
    };
  });
  const numbers = filled.map(({ number }) => number);
  return { name: 'fastText', shape: 'labels', mayBeSingle: true, rows, lines: numbers, columns: {} };
}

const HEADING = /^(#{1,6})\s+(.+?)\s*#*$/u;

/**
 * Questions as headings, with the text below each as the passage. The headings are those of the level that has most which end
 * in a question mark, or else most of all.
 */
export function faqRows(lines: readonly TextLine[], file: string): FoundRows {
  const headings = lines.flatMap(({ number, text }) => {
    const [, marks = '', title = ''] = HEADING.exec(text) ?? [];
    return marks === '' ? [] : [{ number, level: marks.length, title }];
  });
  const score = (level: number) => {
    const own = headings.filter((heading) => heading.level === level);
    return own.length + 1000 * own.filter(({ title }) => title.endsWith('?')).length;
  };
  const [level = 2] = [...new Set(headings.map((heading) => heading.level))].sort((a, b) => score(b) - score(a));
  const questions = headings.filter((heading) => heading.level === level);
  const rows = questions.map(({ number, title }) => {
    const next = headings.find((heading) => heading.number > number && heading.level <= level);
    const below = lines.filter((line) => line.number > number && (next === undefined || line.number < next.number));
    const passage = below
      .map(({ text }) => text)
      .join('\n')
      .trim();
    return { line: number, row: { question: title, passage } };
  });
  const answered = rows.filter(({ row }) => row.passage !== '');
  if (answered.length === 0) {
    const expected = 'questions as headings, each with its answer below';
    throw singleProblem({ file, found: 'found Markdown without headings that have text below', expected });
  }
  const left = rows.length - answered.length;
  return {
    name: 'Markdown with questions as headings',
    shape: 'passage',
    rows: answered.map(({ row }) => row),
    lines: answered.map(({ line }) => line),
    columns: {},
    notes: left > 0 ? [`left out ${counted(left, 'heading')} without text below`] : [],
  };
}

/** A folder of brat (Stenetorp et al. 2012): texts, each with a file of annotations of the same name. */
export async function isBratFolder(folder: string): Promise<boolean> {
  return (await readdir(folder).catch(() => [])).some((name) => name.endsWith('.ann'));
}

/** Places count code points, as brat is written in Python. */
export async function bratRows(folder: string, problems: ProblemList): Promise<FoundRows> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.ann')).sort();
  const rows: { readonly text: string; readonly entities: readonly unknown[] }[] = [];
  let others = 0;
  let split = 0;
  for (const file of names) {
    const textFile = file.replace(/\.ann$/u, '.txt');
    const text = await readFile(join(folder, textFile), 'utf8').catch(() => undefined);
    if (text === undefined) {
      problems.add({ file: textFile, found: 'found no such file', expected: `the text that ${file} annotates` });
      continue;
    }
    const entities: unknown[] = [];
    const annotations = (await readFile(join(folder, file), 'utf8')).split(/\r?\n/u);
    for (const [at, annotation] of annotations.entries()) {
      if (annotation.trim() === '') continue;
      if (!annotation.startsWith('T')) {
        others += 1;
        continue;
      }
      const [, type, places] = /^T\S+\t(\S+) ([\d ;]+)(?:\t|$)/u.exec(annotation) ?? [];
      const numbers = (places ?? '').split(/[ ;]/u).map(Number);
      const [start, end] = [numbers[0], numbers.at(-1)];
      if (type === undefined || start === undefined || end === undefined) {
        const expected = 'an id, a tab, a type, and the offsets of the start and the end';
        problems.add({ file, line: at + 1, found: `found ${quoted(annotation)}`, expected });
        continue;
      }
      if (numbers.length > 2) split += 1;
      entities.push({ start, end, type });
    }
    rows.push({ text, entities });
  }
  const notes = [
    ...(others > 0 ? [`ignored ${counted(others, 'annotation')} of other kinds (relations, events, notes)`] : []),
    ...(split > 0
      ? [
          `${counted(split, 'entity in several parts was', 'entities in several parts were')} read from the start of the first to the end of the last`,
        ]
      : []),
  ];
  return { name: 'a folder of brat', shape: 'entities', rows, lines: rows.map(() => 1), columns: {}, notes };
}
