import type { Bm25Index } from '../../lexical/index.js';
import { isPauseDue, pause } from '../../pauses.js';
import { foldText } from '../dataset-text.js';
import type { Question } from './retrieval-dataset.js';

export interface HardNegativeOptions {
  /** Most negatives of a question. */
  readonly count: number;
  readonly signal?: AbortSignal;
}

/**
 * For every question, the passages that BM25 takes for answers although they aren't, best first. Its own
 * passage, any that answers the same question elsewhere, and copies of these (case and spacing aside) are
 * left out. There are fewer than `count` if fewer passages share a word with the question.
 * @param index of the passages.
 * @throws AbortedError soon after the signal fires.
 */
export async function mineHardNegatives(
  passages: readonly string[],
  questions: readonly Question[],
  index: Bm25Index,
  { count, signal }: HardNegativeOptions,
): Promise<readonly (readonly number[])[]> {
  await pause(signal);
  const answers = new AnswerTable(passages, questions);
  const negatives: number[][] = [];
  for (const question of questions) {
    if (isPauseDue()) await pause(signal);
    const right = answers.of(question);
    const found = index.search(question.question, count + right.size).map(({ id }) => id);
    negatives.push(found.filter((id) => !right.has(id)).slice(0, count));
  }
  return negatives;
}

/** Which passages answer a question. */
class AnswerTable {
  /** Ids of the passages with the same folded text, by that text. */
  readonly #copies = new Map<string, number[]>();
  /** Folded texts of the passages that answer a question, by the folded question. */
  readonly #answers = new Map<string, Set<string>>();

  constructor(passages: readonly string[], questions: readonly Question[]) {
    const folded = passages.map(foldText);
    for (const [id, text] of folded.entries()) {
      const copies = this.#copies.get(text);
      if (copies) copies.push(id);
      else this.#copies.set(text, [id]);
    }
    for (const { question, passage } of questions) {
      const key = foldText(question);
      const answer = folded[passage] ?? '';
      const answers = this.#answers.get(key);
      if (answers) answers.add(answer);
      else this.#answers.set(key, new Set([answer]));
    }
  }

  of({ question }: Question): ReadonlySet<number> {
    const answers = this.#answers.get(foldText(question)) ?? [];
    return new Set([...answers].flatMap((text) => this.#copies.get(text) ?? []));
  }
}
