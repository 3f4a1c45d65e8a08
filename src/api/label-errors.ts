import type { Answer, LabelAnswer } from './answers.js';
import { type Example, entityNames, holds } from './evaluate.js';

/** Rows whose labels are probably wrong, found from the answers of models that were not trained on them. */

/** A row that deserves a second look. */
export interface DoubtfulRow {
  /** Its position, from 0. */
  readonly row: number;
  readonly text: string;
  /** Its labels; its entities as `text (type)`; or the passages that answer its question. */
  readonly given: readonly string[];
  /** What the models suggest instead. */
  readonly suggested: readonly string[];
  /**
   * How much more probable the suggestion is than what is given, −1 to 1. For entities: the probability of the most
   * probable one that is missing from the row.
   */
  readonly score: number;
}

/** A row, and one answer per repeat from models that were not trained on it. */
export interface AnsweredRow {
  readonly row: number;
  readonly example: Example;
  readonly answers: readonly Answer[];
}

export function doubtfulRows(rows: readonly AnsweredRow[], isMultilabel: boolean): readonly DoubtfulRow[] {
  const found = isMultilabel ? doubtfulSets(rows) : [...doubtfulLabels(rows), ...rows.flatMap(doubtfulOther)];
  return found.sort((a, b) => b.score - a.score || a.row - b.row);
}

interface Probable {
  readonly row: number;
  readonly text: string;
  readonly given: readonly string[];
  /** The probability of each label, averaged over repeats. */
  readonly probability: ReadonlyMap<string, number>;
}

function probable(rows: readonly AnsweredRow[]): Probable[] {
  return rows.flatMap(({ row, example, answers }) => {
    const labelled = answers.filter((answer): answer is LabelAnswer => answer.kind === 'labels');
    if (labelled.length === 0) return [];
    const probability = new Map<string, number>();
    for (const { scores } of labelled) {
      for (const { label, score } of scores)
        probability.set(label, (probability.get(label) ?? 0) + score / labelled.length);
    }
    return [{ row, text: example.text, given: example.labels, probability }];
  });
}

class Means {
  readonly #sums = new Map<string, { sum: number; count: number }>();

  add(name: string, value: number): void {
    const { sum, count } = this.#sums.get(name) ?? { sum: 0, count: 0 };
    this.#sums.set(name, { sum: sum + value, count: count + 1 });
  }

  /** ∞ for a name without values, so that nothing reaches it. */
  of(name: string): number {
    const { sum, count } = this.#sums.get(name) ?? { sum: Number.POSITIVE_INFINITY, count: 1 };
    return sum / count;
  }
}

/**
 * Confident learning (Northcutt, Jiang & Chuang 2021): a model is confident of a label if its probability is at least the
 * mean over the rows with this label. A row is doubtful if the most probable of these labels is not its own.
 */
function doubtfulLabels(rows: readonly AnsweredRow[]): DoubtfulRow[] {
  const judged = probable(rows);
  const sure = new Means();
  for (const { given, probability } of judged) for (const label of given) sure.add(label, probability.get(label) ?? 0);
  return judged.flatMap(({ row, text, given, probability }) => {
    const [best] = [...probability].filter(([label, value]) => value >= sure.of(label)).sort(([, a], [, b]) => b - a);
    if (best === undefined || given.includes(best[0])) return [];
    const score = best[1] - (probability.get(given[0] ?? '') ?? 0);
    return [{ row, text, given, suggested: [best[0]], score }];
  });
}

/** Confident learning for rows with several labels: each label is a separate yes or no. */
function doubtfulSets(rows: readonly AnsweredRow[]): DoubtfulRow[] {
  const judged = probable(rows);
  const [yes, no] = [new Means(), new Means()];
  for (const { given, probability } of judged) {
    for (const [label, value] of probability) {
      if (given.includes(label)) yes.add(label, value);
      else no.add(label, 1 - value);
    }
  }
  return judged.flatMap(({ row, text, given, probability }) => {
    const doubts = [...probability].flatMap(([label, value]) => {
      const isYes = given.includes(label);
      const [other, own] = isYes ? [1 - value, value] : [value, 1 - value];
      const [forOther, forOwn] = isYes ? [no.of(label), yes.of(label)] : [yes.of(label), no.of(label)];
      return other >= forOther && (own < forOwn || other > own) ? [{ label, lead: other - own }] : [];
    });
    if (doubts.length === 0) return [];
    const changed = new Set(doubts.map(({ label }) => label));
    const kept = given.filter((label) => !changed.has(label));
    const added = [...changed].filter((label) => !given.includes(label));
    const score = Math.max(...doubts.map(({ lead }) => lead));
    return [{ row, text, given, suggested: [...kept, ...added], score }];
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
    return [{ row, text, given, suggested, score }];
  }
  if (answer?.kind === 'passages') {
    const [best] = answer.passages;
    if (best === undefined || passages.includes(best.text)) return [];
    const own = answer.passages.find((each) => passages.includes(each.text))?.score ?? 0;
    return [{ row, text, given: passages, suggested: [best.text], score: best.score - own }];
  }
  return [];
}
