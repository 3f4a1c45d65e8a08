import { Random } from '../../system/index.js';
import { foldText } from '../dataset-text.js';
import { editWords } from '../edit-words.js';
import type { Question } from './retrieval-dataset.js';

/** Words in at least this share of the questions ("what", "of") say little about what is asked. */
const COMMON_SHARE = 0.02;
/** A common word is also in at least this many questions: a share of few questions says nothing. */
const MIN_COMMON = 3;

/**
 * One edited copy of every question, with the same passage. Only common words are dropped, any may be swapped
 * with a neighbour, so the words that say what is asked all stay. Questions too short to edit safely, and
 * edits that change nothing, give no copy.
 */
export function augmentQuestions(questions: readonly Question[], seed: number): Question[] {
  const random = Random.fromSeed(seed);
  const isCommon = commonWords(questions);
  return questions.flatMap(({ question, passage }) => {
    const edited = editWords(question, random, isCommon);
    return edited === question ? [] : [{ question: edited, passage }];
  });
}

function commonWords(questions: readonly Question[]): (word: string) => boolean {
  const counts = new Map<string, number>();
  for (const { question } of questions) {
    for (const word of new Set(foldText(question).split(' '))) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const fewest = Math.max(MIN_COMMON, COMMON_SHARE * questions.length);
  return (word) => (counts.get(word.toLowerCase()) ?? 0) >= fewest;
}
