import { join } from 'node:path';
import type { Predictor } from 'orchard-nlp';
import type { Recipe } from '../../models/recipes/catalogue/recipe.js';
import { asking } from './ask.js';
import { measureClassifier } from './measure-classifier.js';
import type { Measurement } from './measure-each.js';
import { measureSearch } from './measure-search.js';
import { measureTagger } from './measure-tagger.js';

export interface Subject {
  readonly predictor: Predictor;
  /** The folder that the predictor's models are in. */
  readonly catalogue: string;
  /** The folder that holds every dataset. */
  readonly datasets: string;
}

/** Measures a model of the catalogue on all tests of its recipe. */
export function measure(recipe: Recipe, { predictor, catalogue, datasets }: Subject): Promise<Measurement> {
  switch (recipe.family) {
    case 'Papaya':
      return measureClassifier(recipe, asking(predictor, recipe.name), datasets);
    case 'Grapefruit':
      return measureTagger(recipe, asking(predictor, recipe.name), datasets);
    case 'Dragonfruit':
      return measureSearch(recipe, join(catalogue, recipe.name), datasets);
  }
}
