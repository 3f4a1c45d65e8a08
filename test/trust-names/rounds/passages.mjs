/** A round with passages, questions and columns of such names. @param argv.2 an empty folder */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRetrievalArchive } from 'orchard-nlp';
import { names, resultOf, round } from './round.mjs';

const [folder] = process.argv.slice(2);
const [questionColumn, contextColumn] = names;
const rows = names.flatMap((name) =>
  Array.from({ length: 4 }, (_, row) => [
    `${name} ${row === 0 ? '' : row}`.trim(),
    row === 0 ? name : `${name} is number ${row}`,
  ]),
);
const path = join(folder, '__proto__.csv');
await writeFile(path, [[questionColumn, contextColumn], ...rows].map((cells) => cells.join(',')).join('\n'));
const archive = join(folder, 'passages.zip');
await resultOf(
  createRetrievalArchive({ name: questionColumn, rows: { path, questionColumn, contextColumn } }, archive),
);

const model = { type: 'question-answering', family: 'Dragonfruit' };
const { answer } = await round({ folder, archive, model, query: '__proto__', isolation: 'inline' });
assert.equal(answer.labels.length, 10);
assert(answer.labels.every((passage) => rows.some(([, context]) => context === passage)));
