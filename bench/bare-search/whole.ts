import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { embed } from 'orchard-nlp';
import { z } from 'zod';
import { Bm25Index } from '../../src/lexical/index.js';
import { PassageCollection, PassageSentences, rankPassages } from '../../src/search/index.js';
import { runToEnd } from '../../src/system/index.js';
import { questionReaders, readSquadArticles } from '../datasets/questions.js';
import { COSINE } from './asked.js';
import type { Part } from './corpora.js';

/** Ranking of whole corpora, by words, by vectors, and by both as `search` does: nDCG@10 and how often a right one is first. */

interface Corpus {
  readonly passages: readonly string[];
  readonly questions: readonly { readonly text: string; readonly right: readonly number[] }[];
}

const DEV_ARTICLES = 36;
/** Questions of each article of SQuAD. */
const QUESTIONS_EACH = 100;
const ABSTRACTS = 2000;
const TITLES = 500;

/** Several of one name count together. */
export async function rankings(folder: string, model: string, part: Part) {
  const corpora: Readonly<Record<string, readonly Corpus[]>> =
    part === 'dev'
      ? { 'ACL: titles, abstracts': [aclAbstracts(folder)], 'SQuAD: each article': articles(folder, part) }
      : {
          'SciFact: claims, abstracts': [scifact(folder)],
          'SQuAD: each article': articles(folder, part),
          'FAQ: questions, answers': [faq()],
        };
  const rows = [];
  for (const [name, several] of Object.entries(corpora)) {
    const judged: Judgement[] = [];
    for (const corpus of several) judged.push(...(await judgements(corpus, model)));
    const mean = (values: readonly number[]) =>
      ((100 * values.reduce((sum, value) => sum + value, 0)) / values.length).toFixed(1);
    rows.push({
      corpus: name,
      questions: judged.length,
      ...Object.fromEntries(
        (['words', 'vectors', 'search'] as const).flatMap((way) => [
          [`${way}, nDCG@10`, mean(judged.map((each) => each[way].ndcg))],
          [`${way}, first`, mean(judged.map((each) => each[way].first))],
        ]),
      ),
    });
  }
  return rows;
}

interface Judged {
  readonly ndcg: number;
  readonly first: number;
}

type Judgement = Readonly<Record<'words' | 'vectors' | 'search', Judged>>;

async function judgements({ passages, questions }: Corpus, model: string): Promise<Judgement[]> {
  const sentences = PassageSentences.of(passages).texts;
  const vectors = await embed([...sentences, ...questions.map(({ text }) => text)], { model });
  if (vectors.isErr()) throw vectors.error;
  const stored = passages.map((text, at) => ({ id: String(at), text }));
  const collection = runToEnd(PassageCollection.indexing(stored, true));
  collection.addVectors(vectors.value.slice(0, sentences.length));
  const bm25 = Bm25Index.fromPassages(passages, { stem: true });
  return questions.map(({ text, right }, at) => {
    const vector = vectors.value[sentences.length + at] ?? new Float32Array();
    const { evidence } = collection.evidence(text, vector, COSINE);
    const byScore = (scores: Float32Array) =>
      [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0)).slice(0, 10);
    return {
      words: judged(byScore(bm25.scores(text)), right),
      vectors: judged(byScore(evidence.bestSentences), right),
      search: judged(
        rankPassages(evidence, 10).map(({ id }) => id),
        right,
      ),
    };
  });
}

/** Binary gains (Järvelin & Kekäläinen 2002). */
function judged(found: readonly number[], right: readonly number[]): Judged {
  const discount = (rank: number) => 1 / Math.log2(rank + 2);
  const gain = found.reduce((sum, id, rank) => sum + (right.includes(id) ? discount(rank) : 0), 0);
  const ideal = right.slice(0, 10).reduce((sum, _, rank) => sum + discount(rank), 0);
  return { ndcg: gain / ideal, first: right.includes(found[0] ?? -1) ? 1 : 0 };
}

function scifact(folder: string): Corpus {
  const { passages, test } = questionReaders.scifact?.(folder) ?? { passages: [], test: [] };
  const ids = new Map(passages.map((text, id) => [text, id]));
  const questions = test.map(({ question, contexts }) => ({
    text: question,
    right: contexts.flatMap((context) => ids.get(context) ?? []),
  }));
  return { passages, questions };
}

function articles(folder: string, part: Part): Corpus[] {
  const all = readSquadArticles(join(folder, 'squad_dev'));
  return (part === 'dev' ? all.slice(0, DEV_ARTICLES) : all.slice(DEV_ARTICLES)).map((pairs) => {
    const passages = [...new Set(pairs.map(({ context }) => context))];
    const questions = pairs.slice(0, QUESTIONS_EACH).map(({ question, context }) => ({
      text: question,
      right: [passages.indexOf(context)],
    }));
    return { passages, questions };
  });
}

const faqSchema = z.array(z.object({ question: z.string(), answer: z.string() }));

/** Written for this bench. */
function faq(): Corpus {
  const entries = faqSchema.parse(JSON.parse(readFileSync(new URL('./faq.json', import.meta.url), 'utf8')));
  return {
    passages: entries.map(({ answer }) => answer),
    questions: entries.map(({ question }, at) => ({ text: question, right: [at] })),
  };
}

const aclSchema = z.object({ title: z.string(), abstract: z.string() });

function aclAbstracts(folder: string): Corpus {
  const bytes = readFileSync(join(folder, 'acl_anthology_abstracts', 'abstracts_2016plus.jsonl.br'));
  const lines = brotliDecompressSync(bytes).toString('utf8').trim().split('\n');
  const papers = lines.flatMap((line) => aclSchema.safeParse(JSON.parse(line)).data ?? []);
  const step = Math.floor(papers.length / ABSTRACTS);
  const some = papers.filter((_, at) => at % step === 0).slice(0, ABSTRACTS);
  return {
    passages: some.map(({ abstract }) => abstract),
    questions: some.slice(0, TITLES).map(({ title }, at) => ({ text: title, right: [at] })),
  };
}
