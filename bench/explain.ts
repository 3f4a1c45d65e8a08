import { parseArgs } from 'node:util';
import { type ExplainedAnswer, folderModels, memoryStorage, Predictor } from 'orchard-nlp';
import { catalogueDirectory } from '../models/index.js';
import { recipesNamed } from '../models/recipes/catalogue/models/index.js';
import type { ClassifierRecipe } from '../models/recipes/catalogue/recipe.js';
import { Random } from '../src/system/index.js';
import { machine, median } from './report.js';

/**
 * Whether explanations name the words that answers rest on: deletes the three words that `explainPretrained` names from
 * 200 test texts of each classifier of the catalogue, and three random words, and compares how far the answer's
 * probability falls. Texts have six words at least, so that something is left.
 * Usage: `npm run bench -- explain <datasets folder> [name …] [--texts 200] [--words 3]`
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { texts: { type: 'string', default: '200' }, words: { type: 'string', default: '3' } },
});
const [datasets, ...names] = positionals;
if (datasets === undefined) {
  console.error('give the folder of the datasets: npm run bench -- explain <datasets folder> [name …]');
  process.exit(2);
}
const wanted = Number(values.texts);
const deleted = Number(values.words);
const LEAST_WORDS = 2 * deleted;
const random = Random.fromSeed(1);

function chosen<Item>(items: readonly Item[], count: number): Item[] {
  const left = [...items];
  return Array.from({ length: Math.min(count, left.length) }, () => left.splice(random.integer(left.length), 1)).flat();
}

function without(text: string, words: readonly { readonly word: string; readonly start: number }[]): string {
  return [...words]
    .sort((a, b) => b.start - a.start)
    .reduce((left, { word, start }) => left.slice(0, start).trimEnd() + left.slice(start + word.length), text);
}

async function measure({ name, tests }: ClassifierRecipe, predictor: Predictor, datasets: string) {
  const read = await Promise.all(tests.map((test) => test.read(datasets)));
  const rows = read.flat();
  const falls = { named: 0, random: 0, least: 0 };
  const ms: number[] = [];
  let texts = 0;
  for (const { text } of chosen(rows, rows.length)) {
    if (texts === wanted) break;
    const startedAt = performance.now();
    const explained = await predictor.explainPretrained(name, text);
    const took = performance.now() - startedAt;
    if (explained.isErr()) throw explained.error;
    const [answer] = explained.value.data.explained;
    if (answer === undefined || answer.words.length < LEAST_WORDS) continue;
    texts += 1;
    ms.push(took);
    const fallWithout = async (words: ExplainedAnswer['words']) => {
      const { data } = (await predictor.predictPretrained(name, without(text, words)))._unsafeUnwrap();
      return answer.score - (data.scores[data.labels.indexOf(answer.answer)] ?? 0);
    };
    const byWeight = [...answer.words].sort((a, b) => b.weight - a.weight);
    falls.named += await fallWithout(byWeight.slice(0, deleted));
    falls.least += await fallWithout(byWeight.slice(-deleted));
    falls.random += await fallWithout(chosen(answer.words, deleted));
  }
  return {
    model: name,
    texts,
    'falls by, named': (falls.named / texts).toFixed(3),
    random: (falls.random / texts).toFixed(3),
    'lightest words': (falls.least / texts).toFixed(3),
    'named / random': (falls.named / falls.random).toFixed(1),
    'ms an explanation (median)': median(ms).toFixed(1),
  };
}

console.log(`${machine()}; ${deleted} words deleted`);
await using predictor = new Predictor({
  storage: memoryStorage(),
  modelLoader: folderModels(catalogueDirectory),
});
const table: object[] = [];
for (const recipe of recipesNamed(names.length === 0 ? ['all'] : names)) {
  if (recipe.family !== 'Papaya') continue;
  table.push(await measure(recipe, predictor, datasets));
  console.log(JSON.stringify(table.at(-1)));
}
console.table(table);
