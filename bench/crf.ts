import { bioConstraints, entityScores } from '../src/families/index.js';
import { CrfExpert, encodeCrfExpert, trainCrfExpert, viterbi } from '../src/lexical/index.js';
import { type TaggedSentence, type TaggedSentences, taggedReaders } from './datasets/tagged-sentences.js';
import { machine } from './report.js';

/**
 * The CRF expert alone, trained on one core and decoded under the BIO constraints:
 * `tsx bench/crf.ts <datasets folder> [dataset …]`
 */

const [root, ...asked] = process.argv.slice(2);
if (root === undefined) {
  console.error('give the folder of the datasets: tsx bench/crf.ts <datasets folder> [dataset …]');
  process.exit(2);
}

/** The best tags of each sentence under the expert's own transitions and the BIO constraints. */
function decode(expert: CrfExpert, tags: readonly string[], sentences: readonly TaggedSentence[]) {
  const { start, between } = bioConstraints(tags);
  const transitions = {
    start: start.map((score, at) => score + (expert.transitions.start[at] ?? 0)),
    between: between.map((score, at) => score + (expert.transitions.between[at] ?? 0)),
  };
  return sentences.map(({ words }) =>
    Array.from(viterbi(expert.emissions(words), transitions), (tag) => tags[tag] ?? ''),
  );
}

async function measure({ train, dev, test }: TaggedSentences) {
  const tags = [...new Set(train.flatMap((sentence) => sentence.tags))].sort();
  const rows = train.map((row) => ({ words: row.words, tags: row.tags.map((tag) => tags.indexOf(tag)) }));
  const { signal } = new AbortController();
  const startedAt = performance.now();
  const trained = await trainCrfExpert(rows, { tags: tags.length, seed: 1, signal });
  const seconds = (performance.now() - startedAt) / 1000;
  const bytes = encodeCrfExpert(trained);
  const expert = CrfExpert.decode(bytes, 'the expert');
  const scoredAt = performance.now();
  for (const { words } of test) expert.emissions(words);
  const microseconds = 1000 * (performance.now() - scoredAt);
  const f1 = (rows: readonly TaggedSentence[]) => {
    const scores = entityScores(
      decode(expert, tags, rows),
      rows.map((row) => row.tags),
    );
    return Number(scores.f1.toFixed(4));
  };
  return {
    'dev f1': f1(dev),
    'test f1': f1(test),
    'train (s)': Number(seconds.toFixed(1)),
    'µs a word': Number((microseconds / test.reduce((sum, { words }) => sum + words.length, 0)).toFixed(1)),
    MB: Number((bytes.length / 1e6).toFixed(1)),
  };
}

console.log(machine());
const table: Record<string, Awaited<ReturnType<typeof measure>>> = {};
for (const [name, read] of Object.entries(taggedReaders)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  table[name] = await measure(read(root));
}
console.table(table);
