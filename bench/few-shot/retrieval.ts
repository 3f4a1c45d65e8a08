import { join } from 'node:path';
import { embed, train } from 'orchard-nlp';
import { Bm25Index } from '../../src/lexical/index.js';
import { type QuestionPair, readSquadArticles } from '../datasets/questions.js';
import { type Measured, mean, type Options } from './results.js';
import { shuffled } from './sets.js';

/** SQuAD's last 12 articles, one per seed: its paragraphs are searched, some questions train, the others test. */
const TEST_ARTICLES = 12;

export async function measureSquad(questions: number, seed: number, options: Options): Promise<Measured> {
  const articles = readSquadArticles(join(options.root, 'squad_dev')).slice(-TEST_ARTICLES);
  const pairs = shuffled(articles[(seed - 1) % TEST_ARTICLES] ?? [], seed);
  const passages = [...new Set(pairs.map(({ context }) => context))];
  const rows = pairs.slice(0, questions).map(({ question, context }) => ({ question, passage: context }));
  const test = pairs.slice(questions, questions + options.test);
  const startedAt = performance.now();
  await using model = (await train({ rows, passages, seed, threads: options.threads }))._unsafeUnwrap();
  const seconds = (performance.now() - startedAt) / 1000;
  const answers = (await model.predict(test.map(({ question }) => question)))._unsafeUnwrap();
  const index = Bm25Index.fromPassages(passages, { stem: true });
  const byWords = test.map(({ question }) => passages[index.search(question, 1)[0]?.id ?? -1]);
  return {
    testRows: test.length,
    figures: {
      'train()': top1(
        test,
        answers.map((answer) => answer.passages[0]?.text),
      ),
      BM25: top1(test, byWords),
      'untrained vectors': top1(test, await nearest(test, passages)),
    },
    seconds: { 'train()': seconds },
  };
}

const top1 = (test: readonly QuestionPair[], found: readonly (string | undefined)[]): number =>
  mean(test.map(({ context }, at) => Number(found[at] === context)));

/** By english-mini's cosine, the passage nearest to each question. */
async function nearest(test: readonly QuestionPair[], passages: readonly string[]): Promise<(string | undefined)[]> {
  const vectors = (await embed([...passages, ...test.map(({ question }) => question)]))._unsafeUnwrap();
  return vectors.slice(passages.length).map((question) => {
    const cosines = vectors
      .slice(0, passages.length)
      .map((passage) => passage.reduce((sum, each, at) => sum + each * (question[at] ?? 0), 0));
    return passages[cosines.indexOf(Math.max(...cosines))];
  });
}
