import type { UsageTerms } from '../../../src/contract/index.js';
import type { Recipe, Source } from './recipe.js';

/** Whether a catalogue model may be used for money, as its data say. */

/**
 * What config.json says under `orchard.licence`, and what the card says; undefined if nothing in its own data stands
 * in the way.
 */
export function usageTerms(recipe: Recipe): UsageTerms | undefined {
  const { alternative } = recipe;
  const reasons = new Set(
    textsOf(recipe).flatMap(({ title, restricted }) => (restricted === undefined ? [] : [`${title}: ${restricted}`])),
  );
  if (reasons.size === 0) return undefined;
  return { commercial_use: false, reasons: [...reasons], ...(alternative !== undefined && { alternative }) };
}

/** The same model from data that anybody may use. @throws Error if none of its data are such. */
export function withFreeData(recipe: Recipe): Recipe {
  const free = recipe.unlabelled?.filter(isFree) ?? [];
  const unlabelled = free.length > 0 ? free : undefined;
  switch (recipe.family) {
    case 'Papaya':
      return { ...recipe, unlabelled, sources: freeOf(recipe.name, recipe.sources) };
    case 'Grapefruit':
      return { ...recipe, unlabelled, sources: freeOf(recipe.name, recipe.sources) };
    case 'Dragonfruit':
      return { ...recipe, unlabelled, sources: freeOf(recipe.name, recipe.sources) };
  }
}

function freeOf<Row>(name: string, sources: readonly Source<Row>[]): readonly Source<Row>[] {
  const free = sources.filter(isFree);
  if (free.some(({ supplement }) => supplement === undefined)) return free;
  throw new Error(`${name}: all of its data are restricted, so it cannot be trained with --free`);
}

const isFree = ({ restricted }: Pick<Source<unknown>, 'restricted'>): boolean => restricted === undefined;

/** All that the model learns from, with labels and without. */
const textsOf = (recipe: Recipe): readonly Pick<Source<unknown>, 'title' | 'restricted'>[] => [
  ...recipe.sources,
  ...(recipe.unlabelled ?? []),
];
