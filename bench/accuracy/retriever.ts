import { join } from 'node:path';
import { createRetrievalArchive, fileStorage, Predictor } from 'orchard-nlp';
import { Bm25Index } from '../../src/lexical/index.js';
import type { Questions, TestQuestion } from '../datasets/questions.js';
import { megabytesOf } from '../model-parts.js';
import { ndcg } from './ndcg.js';
import { percent, type Setting, train } from './train.js';

/** Most queries of one call. */
const BATCH = 20;
/** Passages of a result. */
const RANKS = 10;

/** Measures the blend's ranking of all passages for the test questions, and BM25's. */
export async function measureRetriever(name: string, dataset: Questions, setting: Setting) {
  const storage = fileStorage(join(setting.folder, name));
  const archive = join(setting.folder, `${name}.zip`);
  const { passages, train: rows, dev: devRows, test } = dataset;
  const written = await createRetrievalArchive({ name, rows, devRows, passages }, archive);
  if (written.isErr()) throw written.error;
  const model = { type: 'question-answering', family: 'Dragonfruit' } as const;
  const { id, epochs, seconds, parts } = await train(archive, model, storage, setting);
  const directory = await storage.openFolder(id);
  if (directory === undefined) throw new Error(`${name}: no model folder`);
  const texts = [...new Set(passages)];
  const index = Bm25Index.fromPassages(texts, { stem: true });
  const byWords = test.map(({ question }) => index.search(question, RANKS).map((found) => texts[found.id] ?? ''));
  const predictor = new Predictor({ storage });
  const startedAt = performance.now();
  const blended: string[][] = [];
  for (let start = 0; start < test.length; start += BATCH) {
    const queries = test.slice(start, start + BATCH).map(({ question }) => question);
    const { data } = (await predictor.predictCustomBatch(id, queries))._unsafeUnwrap();
    blended.push(...data.map(({ labels }) => labels));
  }
  const questionsPerSecond = test.length / ((performance.now() - startedAt) / 1000);
  await predictor.close();
  const [bm25, blend] = [figuresOf(byWords, test), figuresOf(blended, test)];
  const row = {
    'top-1: BM25': percent(bm25.top1),
    'blend ': percent(blend.top1),
    'top-5: BM25': percent(bm25.top5),
    'blend  ': percent(blend.top5),
    'nDCG@10: BM25': percent(bm25.ndcg),
    'blend   ': percent(blend.ndcg),
    'dev top-1: vectors, BM25, blend': [parts.encoder, parts.expert, parts.blend]
      .map(({ topk }) => percent(topk?.[1]))
      .join(', '),
    weights: `${parts.blend.weights.encoder.toFixed(1)} : ${parts.blend.weights.expert.toFixed(1)}`,
    epochs,
    'train (s)': Math.round(seconds),
    'questions/s': Math.round(questionsPerSecond),
    MB: megabytesOf(directory).all.toFixed(0),
  };
  console.log(`  ${JSON.stringify(row)}`);
  return row;
}

/** Shares of questions with an answer among the first 1 and 5, and nDCG@10. */
function figuresOf(rankings: readonly (readonly string[])[], questions: readonly TestQuestion[]) {
  let top1 = 0;
  let top5 = 0;
  let gain = 0;
  for (const [at, { contexts }] of questions.entries()) {
    const hits = (rankings[at] ?? []).map((passage) => contexts.includes(passage));
    if (hits[0]) top1 += 1;
    if (hits.slice(0, 5).includes(true)) top5 += 1;
    gain += ndcg(hits, contexts.length, RANKS);
  }
  const count = questions.length;
  return { top1: top1 / count, top5: top5 / count, ndcg: gain / count };
}
