import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { Random } from '../../src/system/index.js';
import type { Round } from './contestant.js';
import type { SubjectName } from './models.js';

const questionsSchema = z.record(z.string(), z.object({ question: z.string(), context: z.string() }));

function linesOf(path: string): string[] {
  const file = new URL(`../../examples/${path}`, import.meta.url);
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}

const reviews = () =>
  linesOf('customer-reviews/train.tsv')
    .slice(1)
    .map((line) => line.split('\t')[0] ?? '');

/** Sentences from the archives in examples/, which the texts are made of. */
const sentencesOf: Readonly<Record<SubjectName, () => string[]>> = {
  classification: reviews,
  medley: reviews,
  tagging: () => linesOf('news-entities/train/sentences.txt'),
  retrieval: () =>
    Object.values(questionsSchema.parse(JSON.parse(linesOf('library-questions/train.json').join('')))).flatMap(
      ({ question, context }) => [question, context],
    ),
};

/** Numbers of words. */
const lengths = {
  /** Which every library reads whole. */
  short: (random: Random) => 10 + random.integer(21),
  /** From 3 to 200 with evenly spread logarithms: many short texts, some long ones. */
  mixed: (random: Random) => Math.round(3 * (200 / 3) ** random.uniform()),
};
type LengthName = keyof typeof lengths;

/** The same texts at every call, made of sentences drawn at random. */
export function textsFor(subject: SubjectName, length: LengthName, count: number): string[] {
  const random = Random.fromSeed(1);
  const sentences = sentencesOf[subject]();
  const counts = Array.from({ length: count }, () => lengths[length](random));
  return counts.map((wanted) => {
    const words: string[] = [];
    while (words.length < wanted) words.push(...(sentences[random.integer(sentences.length)] ?? '').split(' '));
    return words.slice(0, wanted).join(' ');
  });
}

/** How texts are asked: how many in a call, by how many callers at the same time. */
const patterns = [
  { name: 'one at a time', perCall: 1, callers: 1 },
  { name: 'batches of 20', perCall: 20, callers: 1 },
  { name: 'batches of 64', perCall: 64, callers: 1 },
  { name: '8 callers', perCall: 1, callers: 8 },
  { name: '64 callers', perCall: 1, callers: 64 },
];

/** The scenarios that are repeated while other processes use the CPU. */
const MAIN = [
  'short, one at a time',
  'short, 64 callers',
  'mixed, one at a time',
  'mixed, batches of 20',
  'mixed, batches of 64',
];

export interface Scenario {
  /** Lengths and pattern. */
  readonly name: string;
  readonly subject: SubjectName;
  readonly isMain: boolean;
  readonly round: Round;
}

/** @param texts of a round, rounded up to full calls. */
export function scenariosFor(subject: SubjectName, texts: number): Scenario[] {
  // A medley takes at most 50 queries at a time.
  const possible = patterns.filter(({ perCall }) => subject !== 'medley' || perCall <= 20);
  return (['short', 'mixed'] as const).flatMap((length) =>
    possible.map(({ name: pattern, perCall, callers }) => {
      const name = `${length}, ${pattern}`;
      const calls = Math.ceil(texts / perCall);
      const all = textsFor(subject, length, calls * perCall);
      const round = {
        calls: Array.from({ length: calls }, (_, at) => all.slice(at * perCall, (at + 1) * perCall)),
        callers,
      };
      return { name, subject, isMain: subject === 'classification' && MAIN.includes(name), round };
    }),
  );
}
