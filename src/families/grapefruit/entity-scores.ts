import { figuresOf } from '../class-figures.js';
import { type EntitySpan, spansOf } from './entity-spans.js';

/**
 * How well entities of one type, or of all types, were found; an entity counts if type, start and end are
 * right.
 */
export interface EntityFigures {
  /** Share of the predicted entities that are right; 0 if none was predicted. */
  readonly precision: number;
  /** Share of the true entities that were found; 0 if there is none. */
  readonly recall: number;
  /** Harmonic mean of the two; 0 if both are 0. */
  readonly f1: number;
  /** True entities. */
  readonly support: number;
  /** Predicted entities. */
  readonly predicted: number;
}

/** What conlleval prints, as shares instead of percentages. */
export interface EntityScores extends EntityFigures {
  /** Share of the words whose tag is right, O included. */
  readonly accuracy: number;
  /** By entity type, sorted; every type that is true or predicted somewhere. */
  readonly types: ReadonlyMap<string, EntityFigures>;
}

/** Counts of entities. */
interface SpanCounts {
  correct: number;
  support: number;
  predicted: number;
}

/**
 * Precision, recall and F1 over the entities of all sentences together (micro), and the accuracy over words.
 * @param predicted BIO tags, sentence by sentence.
 * @param actual the true ones.
 * @throws RangeError if a sentence has more or fewer predicted than true tags.
 */
export function entityScores(
  predicted: readonly (readonly string[])[],
  actual: readonly (readonly string[])[],
): EntityScores {
  const total: SpanCounts = { correct: 0, support: 0, predicted: 0 };
  const byType = new Map<string, SpanCounts>();
  let words = 0;
  let rightWords = 0;
  for (const [index, truth] of actual.entries()) {
    const guess = predicted[index] ?? [];
    if (guess.length !== truth.length) {
      throw new RangeError(
        `sentence ${index} has ${truth.length} tags, but ${guess.length} predicted ones were given`,
      );
    }
    words += truth.length;
    rightWords += truth.filter((tag, word) => tag === guess[word]).length;
    countSpans(spansOf(guess), spansOf(truth), total, byType);
  }
  const types = [...byType].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...figures(total),
    accuracy: words === 0 ? 0 : rightWords / words,
    types: new Map(types.map(([type, counts]) => [type, figures(counts)])),
  };
}

function countSpans(
  predicted: readonly EntitySpan[],
  actual: readonly EntitySpan[],
  total: SpanCounts,
  byType: Map<string, SpanCounts>,
): void {
  const add = (count: keyof SpanCounts, type: string) => {
    const counts = byType.get(type) ?? { correct: 0, support: 0, predicted: 0 };
    counts[count] += 1;
    byType.set(type, counts);
    total[count] += 1;
  };
  const truth = new Map(actual.map((span) => [span.start, span]));
  for (const { type } of actual) add('support', type);
  for (const { type, start, end } of predicted) {
    add('predicted', type);
    const same = truth.get(start);
    if (same?.type === type && same.end === end) add('correct', type);
  }
}

function figures({ correct, support, predicted }: SpanCounts): EntityFigures {
  return { ...figuresOf(correct, predicted - correct, support - correct), predicted };
}
