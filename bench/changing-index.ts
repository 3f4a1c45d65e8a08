import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import MiniSearch from 'minisearch';
import { openSearch, type SearchIndex, search } from 'orchard-nlp';
import { questionReaders } from './datasets/questions.js';
import { machine } from './report.js';

/**
 * An index over the abstracts of SciFact: the time until the first answer by words, compared with MiniSearch; until it is
 * complete; and of each change and of opening it. Medians.
 * Usage: `npm run bench -- changing-index <datasets folder> [--rounds 5] [--passages 5183]`.
 */

const { values: options, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, passages: { type: 'string' } },
  allowPositionals: true,
});
const [folder] = positionals;
const read = questionReaders.scifact;
if (folder === undefined || read === undefined)
  throw new Error('usage: npm run bench -- changing-index <datasets folder>');

const { passages: all, test } = read(folder);
const passages = all.slice(0, Number(options.passages ?? all.length));
const question = test[0]?.question ?? '';
const CHANGES = 20;

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function firstByWords(): Promise<SearchIndex> {
  const index = (await search(passages, { background: true }))._unsafeUnwrap();
  (await index.search(question))._unsafeUnwrap();
  return index;
}

async function firstOfMiniSearch(): Promise<void> {
  const index = new MiniSearch({ fields: ['text'] });
  index.addAll(passages.map((text, id) => ({ id, text })));
  index.search(question);
}

console.log(`${passages.length} abstracts; ${machine()}`);
await (await firstByWords()).close(); // what is loaded on first use
const rounds = [];
for (let round = 0; round < Number(options.rounds); round += 1) {
  let index: SearchIndex | undefined;
  const ours = await timed(async () => {
    index = await firstByWords();
  });
  await index?.close();
  rounds.push({ ours, theirs: await timed(firstOfMiniSearch) });
}
console.log(`first answer by words: ${median(rounds.map(({ ours }) => ours)).toFixed(0)} ms`);
console.log(`… of MiniSearch: ${median(rounds.map(({ theirs }) => theirs)).toFixed(0)} ms`);
console.log(`ours / theirs: ${median(rounds.map(({ ours, theirs }) => ours / theirs)).toFixed(2)}`);

const started = performance.now();
await using index = await firstByWords();
(await index.complete())._unsafeUnwrap();
console.log(`complete: ${((performance.now() - started) / 1000).toFixed(1)} s, ${index.progress.total} sentences`);

const adding = [];
const deleting = [];
for (let change = 0; change < CHANGES; change += 1) {
  const text = `${passages[change]} Once more.`;
  adding.push(await timed(async () => (await index.add([{ id: `new ${change}`, text }]))._unsafeUnwrap()));
  deleting.push(await timed(async () => (await index.delete([`new ${change}`]))._unsafeUnwrap()));
}
console.log(`add one passage: ${median(adding).toFixed(1)} ms`);
console.log(`delete one passage: ${median(deleting).toFixed(1)} ms`);
const asking = [];
for (const { question } of test.slice(0, 100)) {
  asking.push(await timed(async () => (await index.search(question))._unsafeUnwrap()));
}
console.log(`a question: ${median(asking).toFixed(1)} ms`);
const saved = mkdtempSync(join(tmpdir(), 'orchard-bench-'));
try {
  console.log(
    `save: ${(await timed(async () => (await index.save(join(saved, 'index')))._unsafeUnwrap())).toFixed(0)} ms`,
  );
  const opening = [];
  for (let round = 0; round < Number(options.rounds); round += 1) {
    opening.push(
      await timed(async () => {
        await using opened = (await openSearch(join(saved, 'index')))._unsafeUnwrap();
        (await opened.search(question))._unsafeUnwrap();
      }),
    );
  }
  console.log(`open and ask: ${median(opening).toFixed(0)} ms`);
} finally {
  rmSync(saved, { recursive: true });
}
process.exit();
