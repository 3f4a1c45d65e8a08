import { join } from 'node:path';
import { type FoundPassage, type SearchIndex, search } from 'orchard-nlp';
import { questionReaders, readSquadArticles } from './datasets/questions.js';
import { machine } from './report.js';

/**
 * Whether a changed index ranks as a new one: passages added one by one and at once; half of them deleted, and an index of
 * the other half. Compares the ten best passages of each question, and their scores.
 * Usage: `npm run bench -- changed-ranking <datasets folder>`.
 */

const [folder] = process.argv.slice(2);
const scifact = questionReaders.scifact;
if (folder === undefined || scifact === undefined)
  throw new Error('usage: npm run bench -- changed-ranking <datasets folder>');

interface Corpus {
  readonly name: string;
  readonly passages: readonly string[];
  readonly questions: readonly string[];
}

const TEST_ARTICLES = 12;
const QUESTIONS_EACH = 100;

function corpora(folder: string, read: NonNullable<typeof scifact>): Corpus[] {
  const { passages, test } = read(folder);
  const articles = readSquadArticles(join(folder, 'squad_dev')).slice(-TEST_ARTICLES);
  return [
    ...articles.map((article, at) => ({
      name: `SQuAD, article ${at + 1}`,
      passages: [...new Set(article.map(({ context }) => context))],
      questions: article.slice(0, QUESTIONS_EACH).map(({ question }) => question),
    })),
    { name: 'SciFact', passages, questions: test.map(({ question }) => question) },
  ];
}

type Answers = readonly (readonly FoundPassage[])[];

async function answers(index: SearchIndex, questions: readonly string[]): Promise<Answers> {
  const found = [];
  for (const question of questions) found.push((await index.search(question))._unsafeUnwrap());
  return found;
}

/** How many rankings differ, and by how much a score does at most. */
function difference(ours: Answers, theirs: Answers): { readonly different: number; readonly largest: number } {
  const ids = (found: readonly FoundPassage[] | undefined) => found?.map(({ id }) => id).join();
  const different = ours.filter((found, at) => ids(found) !== ids(theirs[at])).length;
  const differences = ours.flatMap((found, at) =>
    found.map(({ score }, rank) => Math.abs(score - (theirs[at]?.[rank]?.score ?? Number.NaN))),
  );
  return { different, largest: Math.max(0, ...differences) };
}

console.log(machine());
for (const { name, passages, questions } of corpora(folder, scifact)) {
  const all = passages.map((text, at) => ({ id: String(at), text }));
  await using atOnce = (await search(all))._unsafeUnwrap();
  await using oneByOne = (await search(all.slice(0, 1)))._unsafeUnwrap();
  for (const passage of all.slice(1)) (await oneByOne.add([passage]))._unsafeUnwrap();
  const added = difference(await answers(oneByOne, questions), await answers(atOnce, questions));
  await using half = (await search(all.filter((_, at) => at % 2 === 0)))._unsafeUnwrap();
  (await oneByOne.delete(all.flatMap(({ id }, at) => (at % 2 === 1 ? id : []))))._unsafeUnwrap();
  const deleted = difference(await answers(oneByOne, questions), await answers(half, questions));
  const shown = ({ different, largest }: ReturnType<typeof difference>) =>
    `${different} rankings differ, scores by ${largest.toExponential(1)} at most`;
  console.log(`${name}: ${passages.length} passages, ${questions.length} questions`);
  console.log(`  added one by one: ${shown(added)}`);
  console.log(`  half deleted: ${shown(deleted)}`);
}
process.exit();
