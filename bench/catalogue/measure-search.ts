import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderModels, memoryStorage, Predictor } from 'orchard-nlp';
import { replacePassages } from '../../models/recipes/catalogue/passages.js';
import type { SearchRecipe, SearchTest } from '../../models/recipes/catalogue/recipe.js';
import { Bm25Index } from '../../src/lexical/index.js';
import { ndcg } from '../accuracy/ndcg.js';
import { type Ask, asking } from './ask.js';
import { bootstrapped, mean } from './intervals.js';
import { type Measurement, measureEach } from './measure-each.js';

/** Passages of a result. */
const RANKS = 10;

/**
 * nDCG@10 of copies of the model that search the passages of each test, and of BM25 over the same passages.
 */
export function measureSearch({ tests }: SearchRecipe, directory: string, datasets: string): Promise<Measurement> {
  return measureEach(tests, datasets, async (search) => {
    const texts = search.questions.map(({ question }) => question);
    const results = await withPassages(directory, search.passages, (ask) => ask(texts));
    const gains = gainsOf(
      search,
      results.map(({ labels }) => labels),
    );
    const beside = { method: 'BM25', value: mean(gainsOf(search, rankedByWords(search))) };
    return { texts, figure: { metric: 'nDCG@10', ...bootstrapped(gains, mean), beside } };
  });
}

async function withPassages<Result>(
  directory: string,
  passages: readonly string[],
  work: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'orchard-catalogue-'));
  const name = 'search';
  await cp(directory, join(folder, name), { recursive: true });
  await replacePassages(join(folder, name), passages, 1);
  const predictor = new Predictor({ storage: memoryStorage(), modelLoader: folderModels(folder) });
  try {
    return await work(asking(predictor, name));
  } finally {
    await predictor.close();
    await rm(folder, { recursive: true });
  }
}

function rankedByWords({ passages, questions }: SearchTest): string[][] {
  const index = Bm25Index.fromPassages(passages, { stem: true });
  return questions.map(({ question }) => index.search(question, RANKS).map(({ id }) => passages[id] ?? ''));
}

function gainsOf({ questions }: SearchTest, rankings: readonly (readonly string[])[]): number[] {
  return questions.map(({ contexts }, at) => {
    const hits = (rankings[at] ?? []).map((passage) => contexts.includes(passage));
    return ndcg(hits, contexts.length, RANKS);
  });
}
