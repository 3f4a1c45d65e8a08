import { join } from 'node:path';
import type { Predictor } from 'orchard-nlp';
import type { Measured } from '../../models/recipes/catalogue/model-facts.js';
import type { Recipe } from '../../models/recipes/catalogue/recipe.js';
import { asking } from './ask.js';
import { measureClassifier } from './measure-classifier.js';
import { measureSearch } from './measure-search.js';
import { measureTagger } from './measure-tagger.js';

export interface Measurement {
  readonly tests: readonly Measured[];
  /** What was asked, test after test. */
  readonly texts: readonly string[];
}

export interface Subject {
  readonly predictor: Predictor;
  /** The folder that the predictor's models are in. */
  readonly catalogue: string;
  /** The folder that holds every dataset. */
  readonly datasets: string;
}

/** A model of the catalogue on all tests of its recipe. */
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
