import type { InferenceResult } from 'orchard-nlp';
import type { TaggerRecipe } from '../../models/recipes/catalogue/recipe.js';
import { spansOf } from '../../src/families/index.js';
import type { TaggedSentence } from '../datasets/tagged-sentences.js';
import type { Ask } from './ask.js';
import { bootstrapped } from './intervals.js';
import { type Measurement, measureEach } from './measure-each.js';

/**
 * F1 over entities in texts that are the words with spaces between them: type, first and last character must
 * be right.
 */
export function measureTagger({ tests }: TaggerRecipe, ask: Ask, datasets: string): Promise<Measurement> {
  return measureEach(tests, datasets, async (sentences) => {
    const texts = sentences.map(({ words }) => words.join(' '));
    const results = await ask(texts);
    const counts = sentences.map((sentence, at) => countEntities(entitiesOf(sentence), foundIn(results[at])));
    return { texts, figure: { metric: 'entity F1', ...bootstrapped(counts, f1) } };
  });
}

/** Of one sentence, or of all. */
export interface EntityCounts {
  readonly correct: number;
  readonly actual: number;
  readonly predicted: number;
}

/** Entities as `type start end`, in UTF-16 code units of the words with spaces between them. */
export function entitiesOf({ words, tags }: TaggedSentence): string[] {
  const starts: number[] = [];
  let at = 0;
  for (const word of words) {
    starts.push(at);
    at += word.length + 1;
  }
  return spansOf(tags).map(({ type, start, end }) => {
    const last = end - 1;
    return `${type} ${starts[start]} ${(starts[last] ?? 0) + (words[last]?.length ?? 0)}`;
  });
}

export function foundIn(result: InferenceResult | undefined): string[] {
  const { labels = [], tokens = [], token_start_positions: starts = [] } = result ?? {};
  return labels.map((label, at) => {
    const start = starts[at] ?? 0;
    return `${label} ${start} ${start + (tokens[at]?.length ?? 0)}`;
  });
}

export function countEntities(actual: readonly string[], predicted: readonly string[]): EntityCounts {
  const correct = predicted.filter((entity) => actual.includes(entity)).length;
  return { correct, actual: actual.length, predicted: predicted.length };
}

/** 2 · correct / (actual + predicted) over all sentences together; 0 where there is nothing to find. */
export function f1(counts: readonly EntityCounts[]): number {
  const total = (count: keyof EntityCounts) => counts.reduce((sum, each) => sum + each[count], 0);
  return (2 * total('correct')) / Math.max(1, total('actual') + total('predicted'));
}
