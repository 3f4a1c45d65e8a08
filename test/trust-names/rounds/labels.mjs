/** A round with labels, columns and files of such names. @param argv.2 an empty folder */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClassificationArchive } from 'orchard-nlp';
import { names, resultOf, round } from './round.mjs';

const [folder] = process.argv.slice(2);
const [name, textColumn] = names;
const type = 'multiclass-text-classification';
const rows = names.flatMap((label, at) =>
  Array.from({ length: 6 }, (_, row) => JSON.stringify([textColumn, `thing ${row} of ${at} ${label}`, name, label])),
);
// As JSON, since a literal can't have such keys.
const objects = rows.map((row) =>
  row
    .replace('[', '{')
    .replace(/\]$/, '}')
    .replaceAll(/("\w+"),("[^"]*")/g, '$1:$2'),
);
const path = join(folder, 'constructor.jsonl');
await writeFile(path, objects.join('\n'));
const archive = join(folder, 'labels.zip');
await resultOf(createClassificationArchive({ type, name, rows: { path, textColumn, labelColumn: name } }, archive));

const model = { type, family: 'Papaya' };
const { answer, report } = await round({
  folder,
  archive,
  model,
  query: 'thing 1 of 0 __proto__',
  isolation: 'worker',
});
assert.deepEqual([...answer.labels].sort(), [...names].sort());
for (const label of names) assert(report.includes(`>${label}</text>`), `the matrix names ${label}`);
