import type { Answer, LabelAnswer } from './answers.js';
import { type Example, entityNames, holds } from './evaluate.js';

/** Rows whose labels are probably wrong, found from the answers of models that were not trained on them. */

/** A row whose labels may be wrong. */
export interface DoubtfulRow {
  /** Its position, from 0: among `rows` as they were given, or among the rows that were read from a file. */
  readonly row: number;
  readonly text: string;
  /** The second text, in rows of pairs. */
  readonly text2?: string | undefined;
  /** Its labels; its entities as `text (type)`; or the passages that answer its question. */
  readonly given: readonly string[];
  /** What the models suggest instead. */
  readonly suggested: readonly string[];
  /** Its line in the file, from 1; absent for rows in memory. */
  readonly line?: number | undefined;
  /**
   * The probability of what is given, 0 to 1, by models that were not trained on the row. With several labels: the
   * probability of the least probable decision for or against a label. For entities: 1 minus the probability of the
   * most probable entity that is missing from the row.
   */
  readonly probability: number;
  /**
   * How much more probable the suggestion is than what is given, −1 to 1. For entities: the probability of the most
   * probable entity that is missing from the row.
   */
  readonly score: number;
}

/** A row, and one answer per repeat from models that were not trained on it. */
export interface AnsweredRow {
  readonly row: number;
  readonly example: Example;
  readonly answers: readonly Answer[];
}

/**
 * Ordered by the probability of what is given, which finds flipped labels better than its distance from the suggestion
 * (self-confidence: Kuan & Mueller 2022).
 */
export function doubtfulRows(rows: readonly AnsweredRow[], isMultilabel: boolean): readonly DoubtfulRow[] {
  const found = isMultilabel ? doubtfulSets(rows) : [...doubtfulLabels(rows), ...rows.flatMap(doubtfulOther)];
  return found.sort((a, b) => a.probability - b.probability || a.row - b.row);
}

interface Probable {
  readonly row: number;
  readonly texts: Pick<DoubtfulRow, 'text' | 'text2'>;
  readonly given: readonly string[];
  /** The probability of each label, averaged over repeats. */
  readonly probability: ReadonlyMap<string, number>;
}

function probable(rows: readonly AnsweredRow[]): Probable[] {
  return rows.flatMap(({ row, example, answers }) => {
    const labelled = answers.filter((answer): answer is LabelAnswer => answer.kind === 'labels');
    // Doubtful is what is given as certain.
    if (labelled.length === 0 || example.isSoft) return [];
    const probability = new Map<string, number>();
    for (const { scores } of labelled) {
      for (const { label, score } of scores)
        probability.set(label, (probability.get(label) ?? 0) + score / labelled.length);
    }
    const { text, text2 } = example;
    const texts = { text, ...(text2 !== undefined && { text2 }) };
    return [{ row, texts, given: example.labels, probability }];
  });
}

/** A row is doubtful if its label isn't the most probable one. */
function doubtfulLabels(rows: readonly AnsweredRow[]): DoubtfulRow[] {
  return probable(rows).flatMap(({ row, texts, given, probability }) => {
    const [[label, highest] = ['', 0]] = [...probability].sort(([, a], [, b]) => b - a);
    if (given.includes(label)) return [];
    const own = probability.get(given[0] ?? '') ?? 0;
    return [{ row, ...texts, given, suggested: [label], probability: own, score: highest - own }];
  });
}

/** Each label of a row that may have several is a separate yes or no; doubtful is one with a probability below one half. */
function doubtfulSets(rows: readonly AnsweredRow[]): DoubtfulRow[] {
  return probable(rows).flatMap(({ row, texts, given, probability }) => {
    const own = [...probability].map(([label, value]) => (given.includes(label) ? value : 1 - value));
    const least = Math.min(1, ...own);
    if (least >= 0.5) return [];
    const suggested = [...probability].flatMap(([label, value]) => (value > 0.5 ? [label] : []));
    return [{ row, ...texts, given, suggested, probability: least, score: 1 - 2 * least }];
  });
}

/** Entities and passages, by the answer of the first repeat. */
function doubtfulOther({ row, example, answers: [answer] }: AnsweredRow): DoubtfulRow[] {
  const { text, entities, passages } = example;
  if (answer?.kind === 'entities') {
    const missing = answer.entities.filter((each) => !holds(entities, each));
    if (missing.length === 0) return [];
    const score = Math.max(...missing.map((each) => each.score));
    const [given, suggested] = [entityNames(text, entities), entityNames(text, answer.entities)];
    return [{ row, text, given, suggested, probability: 1 - score, score }];
  }
  if (answer?.kind === 'passages') {
    const [best] = answer.passages;
    if (best === undefined || passages.includes(best.text)) return [];
    const own = answer.passages.find((each) => passages.includes(each.text))?.score ?? 0;
    return [{ row, text, given: passages, suggested: [best.text], probability: own, score: best.score - own }];
  }
  return [];
}
