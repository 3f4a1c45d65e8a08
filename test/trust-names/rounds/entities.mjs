/** A round with types of entities, and words, of such names. @param argv.2 an empty folder */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createSequenceArchive } from 'orchard-nlp';
import { names, resultOf, round } from './round.mjs';

const [folder] = process.argv.slice(2);
const rows = names.flatMap((type, at) =>
  Array.from({ length: 6 }, (_, row) => ({
    words: ['we', 'met', type, `person${at}`, 'on', `day${row}`],
    tags: ['O', 'O', `B-${type}`, `I-${type}`, 'O', 'O'],
  })),
);
const archive = join(folder, 'entities.zip');
await resultOf(createSequenceArchive({ name: names[0], rows }, archive));

const model = { type: 'named-entity-recognition', family: 'Grapefruit' };
const query = 'we met constructor person1 on day3';
const { answer, report } = await round({ folder, archive, model, query, isolation: 'process' });
assert.equal(answer.labels.length, answer.tokens.length);
for (const type of names) assert(report.includes(`>${type}<`), `the report has a row for ${type}`);
