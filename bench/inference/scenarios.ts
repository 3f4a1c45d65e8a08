import { Random } from '../../src/system/index.js';
import type { SubjectName } from './models.js';
import type { Round } from './protocol.js';
import { mixedCounts, sentencesOf, textsOfWords } from './texts.js';

/** How texts are asked: how many in a call, by how many callers at the same time. */
interface Pattern {
  readonly name: string;
  readonly perCall: number;
  readonly callers: number;
}

const patterns: readonly Pattern[] = [
  { name: 'one at a time', perCall: 1, callers: 1 },
  { name: 'batches of 20', perCall: 20, callers: 1 },
  { name: 'sets of 64', perCall: 64, callers: 1 },
  { name: '8 callers', perCall: 1, callers: 8 },
  { name: '64 callers', perCall: 1, callers: 64 },
];
/** A medley takes at most 50 queries at a time. */
const medleyPatterns = patterns.filter(({ perCall }) => perCall <= 20);

/** Numbers of words. */
const lengths: Readonly<Record<string, (count: number, random: Random) => number[]>> = {
  short: (count, random) => Array.from({ length: count }, () => 10 + random.integer(21)),
  mixed: (count, random) => mixedCounts(count, 3, 200, random),
};

/** The scenarios that are repeated beside busy processes. */
const MAIN = new Set([
  'classification, short, one at a time',
  'classification, short, 64 callers',
  'classification, mixed, one at a time',
  'classification, mixed, batches of 20',
  'classification, mixed, sets of 64',
]);

export interface Scenario {
  /** Subject, lengths and pattern. */
  readonly name: string;
  readonly subject: SubjectName;
  readonly isMain: boolean;
  readonly round: Round;
}

/** Whose sentences the texts are made of. */
const datasets = {
  classification: 'customer-reviews',
  tagging: 'news-entities',
  retrieval: 'library-questions',
  medley: 'customer-reviews',
} as const;

/** Texts of 10 to 30 words, which every library reads whole. */
export function shortTexts(subject: SubjectName, count: number): string[] {
  return textsFor(subject, 'short', count);
}

/** Texts of 3 to 200 words with evenly spread logarithms. */
export function mixedTexts(subject: SubjectName, count: number): string[] {
  return textsFor(subject, 'mixed', count);
}

function textsFor(subject: SubjectName, length: string, count: number): string[] {
  const random = Random.fromSeed(1);
  const counts = lengths[length]?.(count, random) ?? [];
  return textsOfWords(counts, sentencesOf[datasets[subject]](), random);
}

/** @param texts of a round, rounded up to full calls. */
export function scenariosFor(subject: SubjectName, texts: number): Scenario[] {
  return Object.keys(lengths).flatMap((length) =>
    (subject === 'medley' ? medleyPatterns : patterns).map(({ name: pattern, perCall, callers }) => {
      const name = `${subject}, ${length}, ${pattern}`;
      const calls = Math.ceil(texts / perCall);
      const all = textsFor(subject, length, calls * perCall);
      const round: Round = {
        calls: Array.from({ length: calls }, (_, at) => all.slice(at * perCall, (at + 1) * perCall)),
        callers,
        traced: false,
      };
      return { name, subject, isMain: MAIN.has(name), round };
    }),
  );
}
