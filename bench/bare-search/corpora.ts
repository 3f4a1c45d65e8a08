import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { embed } from 'orchard-nlp';
import { z } from 'zod';
import { PassageSentences } from '../../src/search/index.js';
import type { Corpus } from './asked.js';

/** Questions of each paragraph that are asked. */
const QUESTIONS_EACH = 2;
/** Articles that are for choosing; the others are what is measured. */
const DEV_ARTICLES = 36;
/** Lines with a sentence and its question, likewise. */
const DEV_LINES = 9000;
/** What corpora are divided into: nothing is chosen by what is measured. */
export const partSchema = z.enum(['dev', 'test']);
export type Part = z.infer<typeof partSchema>;

/** The sentences follow their articles, which the file doesn't tell apart: so many in a row count as one topic. */
const SENTENCES_A_TOPIC = 200;

const articleSchema = z.object({
  paragraphs: z.array(z.object({ context: z.string(), qas: z.array(z.object({ question: z.string() })) })),
});
const squadSchema = z.union([
  z.object({ data: z.array(articleSchema) }).transform(({ data }) => data),
  z.array(articleSchema),
]);

interface Texts {
  readonly passages: { readonly text: string; readonly topic: number }[];
  readonly questions: { readonly text: string; readonly passage: number }[];
}

/** The paragraphs of SQuAD 1.1 dev, by article. */
export async function paragraphs(folder: string, model: string, part: Part): Promise<Corpus> {
  const articles = squadSchema.parse(JSON.parse(textOf(folder, 'squad_dev/squad_1.1_dev.json.br')));
  const texts: Texts = { passages: [], questions: [] };
  for (const [topic, article] of partOf(articles, DEV_ARTICLES, part).entries()) {
    for (const { context, qas } of article.paragraphs) {
      const passage = texts.passages.push({ text: context, topic }) - 1;
      for (const { question } of qas.slice(0, QUESTIONS_EACH)) texts.questions.push({ text: question, passage });
    }
  }
  return withVectors('paragraphs', texts, model);
}

/** Sentences and questions of the test part of Du et al. 2017. */
export async function sentences(folder: string, model: string, part: Part): Promise<Corpus> {
  const lines = textOf(folder, 'nqg_squad_sentences/src-test.txt.br').trim().split('\n');
  const asked = textOf(folder, 'nqg_squad_sentences/tgt-test.txt').trim().split('\n');
  const texts: Texts = { passages: [], questions: [] };
  const pairs = lines.map((text, at) => ({ text, question: asked[at] ?? '' }));
  const known = new Map<string, number>();
  for (const { text, question } of partOf(pairs, DEV_LINES, part)) {
    const next = texts.passages.length;
    const passage = known.get(text) ?? next;
    if (passage === next) texts.passages.push({ text, topic: Math.floor(next / SENTENCES_A_TOPIC) });
    known.set(text, passage);
    texts.questions.push({ text: question, passage });
  }
  return withVectors('sentences', texts, model);
}

function partOf<Item>(items: readonly Item[], dev: number, part: Part): readonly Item[] {
  return part === 'dev' ? items.slice(0, dev) : items.slice(dev);
}

function textOf(folder: string, name: string): string {
  const bytes = readFileSync(join(folder, name));
  return (name.endsWith('.br') ? brotliDecompressSync(bytes) : bytes).toString('utf8');
}

async function withVectors(name: string, { passages, questions }: Texts, model: string): Promise<Corpus> {
  const sentences = PassageSentences.of(passages.map(({ text }) => text));
  const vectors = await embed([...sentences.texts, ...questions.map(({ text }) => text)], { model });
  if (vectors.isErr()) throw vectors.error;
  const ofQuestions = vectors.value.slice(sentences.texts.length);
  const ofPassage = (at: number) => vectors.value.slice(sentences.starts[at], sentences.starts[at + 1]);
  return {
    name,
    passages: passages.map((each, at) => ({ ...each, vectors: ofPassage(at) })),
    questions: questions.map((each, at) => ({ ...each, vector: ofQuestions[at] ?? new Float32Array() })),
  };
}
