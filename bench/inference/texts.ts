import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Random } from '../../src/system/index.js';

/** Sentences from the archives in examples/. */
export const sentencesOf = {
  'news-entities': () => linesOf('news-entities/train/sentences.txt'),
  'customer-reviews': () =>
    linesOf('customer-reviews/train.tsv')
      .slice(1)
      .map((line) => line.split('\t')[0] ?? ''),
  'library-questions': () =>
    Object.values(questionsSchema.parse(JSON.parse(linesOf('library-questions/train.json').join('')))).flatMap(
      ({ question, context }) => [question, context],
    ),
};

const questionsSchema = z.record(z.string(), z.object({ question: z.string(), context: z.string() }));

function linesOf(path: string): string[] {
  const file = new URL(`../../examples/${path}`, import.meta.url);
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}

/** Texts of exactly these numbers of words, from sentences drawn at random. */
export function textsOfWords(counts: readonly number[], sentences: readonly string[], random: Random): string[] {
  return counts.map((count) => {
    const words: string[] = [];
    while (words.length < count) words.push(...(sentences[random.integer(sentences.length)] ?? '').split(' '));
    return words.slice(0, count).join(' ');
  });
}

/** Whole numbers from `least` to `most` with evenly spread logarithms: many short texts, some long ones. */
export function mixedCounts(count: number, least: number, most: number, random: Random): number[] {
  return Array.from({ length: count }, () => Math.round(least * Math.exp(random.uniform() * Math.log(most / least))));
}
