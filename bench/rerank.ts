import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { search, train } from 'orchard-nlp';
import { Bm25Index } from '../src/lexical/index.js';
import { type QuestionPair, questionReaders } from './datasets/questions.js';
import { machine } from './report.js';

/**
 * Whether a cross-encoder of our own ranks better: a model trained on pairs of a question and a passage that answers it, or
 * one that BM25 finds in its place. nDCG@10 of SciFact's test claims, without it and with it.
 * Usage: `npm run bench -- rerank <datasets folder> [--size mini] [--epochs 2] [--depth 30] [--squad 6000]`.
 */

const { values: options, positionals } = parseArgs({
  options: {
    size: { type: 'string', default: 'mini' },
    epochs: { type: 'string', default: '2' },
    /** Passages per question that the cross-encoder reads. */
    depth: { type: 'string', default: '30' },
    /** Questions about SQuAD's first articles to train on. */
    squad: { type: 'string', default: '6000' },
  },
  allowPositionals: true,
});
const [folder] = positionals;
const { scifact, squad_dev: squad } = questionReaders;
if (folder === undefined || scifact === undefined || squad === undefined)
  throw new Error('usage: npm run bench -- rerank <datasets folder>');

/** Passages that don't answer, for each question. */
const WRONG_EACH = 3;

/** Each question with its passage, and with those of the ones that BM25 ranks first which are not. */
function pairsOf(passages: readonly string[], asked: readonly QuestionPair[]) {
  const words = Bm25Index.fromPassages(passages, { stem: true });
  const right = new Map<string, Set<string>>();
  for (const { question, context } of asked) right.set(question, (right.get(question) ?? new Set()).add(context));
  return asked.flatMap(({ question, context }) => {
    const scores = words.scores(question);
    const best = [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0)).slice(0, 10 + WRONG_EACH);
    const found = best.flatMap((at) => passages[at] ?? []).filter((text) => !right.get(question)?.has(text));
    return [
      { text: question, text2: context, label: 'fits' },
      ...found.slice(0, WRONG_EACH).map((text2) => ({ text: question, text2, label: 'differs' })),
    ];
  });
}

const abstracts = scifact(folder);
const paragraphs = squad(folder);
const step = Math.max(1, Math.floor(paragraphs.train.length / Number(options.squad)));
const some = paragraphs.train.filter((_, at) => at % step === 0).slice(0, Number(options.squad));
const rows = [...pairsOf(abstracts.passages, abstracts.train), ...pairsOf(paragraphs.passages, some)];

const place = mkdtempSync(join(tmpdir(), 'orchard-bench-'));
try {
  console.log(`${rows.length} pairs; ${machine()}`);
  const startedAt = performance.now();
  const trained = await train({
    ...{ rows, output: join(place, 'model'), epochs: Number(options.epochs) },
    size: options.size === 'base' ? 'base' : 'mini',
  });
  if (trained.isErr()) throw trained.error;
  const { accuracy, f1 } = trained.value.training;
  await trained.value.close();
  console.log(`trained in ${((performance.now() - startedAt) / 1000).toFixed(0)} s: accuracy ${accuracy}, F1 ${f1}`);
  await using index = (await search(abstracts.passages, { rerank: join(place, 'model') }))._unsafeUnwrap();
  const sums = { plain: 0, reranked: 0 };
  const places = new Map(abstracts.passages.map((text, at) => [text, at]));
  for (const { question, contexts } of abstracts.test) {
    const right = new Set(contexts.flatMap((context) => places.get(context) ?? []));
    for (const [way, rerank] of [['plain', false] as const, ['reranked', Number(options.depth)] as const]) {
      const found = (await index.search(question, { rerank }))._unsafeUnwrap();
      const gain = found.reduce((sum, { index: at }, rank) => sum + (right.has(at) ? 1 / Math.log2(rank + 2) : 0), 0);
      const ideal = [...right].slice(0, 10).reduce((sum, _, rank) => sum + 1 / Math.log2(rank + 2), 0);
      sums[way] += gain / ideal / abstracts.test.length;
    }
  }
  console.log(`nDCG@10: ${(100 * sums.plain).toFixed(1)} without, ${(100 * sums.reranked).toFixed(1)} with it`);
} finally {
  rmSync(place, { recursive: true });
}
process.exit();
