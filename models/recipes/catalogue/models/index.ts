import type { PretrainedModelName } from '../../../../src/index.js';
import type { Recipe } from '../recipe.js';
import { conversationalEnglish } from './conversational-language-understanding-english.js';
import { conversationalJapanese } from './conversational-language-understanding-japanese.js';
import { customerReview } from './customer-review.js';
import { emotionDetection } from './emotion-detection.js';
import { financialCustomerSupport } from './financial-customer-support.js';
import { financialSentimentAnalysis } from './financial-sentiment-analysis.js';
import { namedEntityRecognition } from './named-entity-recognition.js';
import { newsClassification } from './news-classification.js';
import { researchPapersSearch } from './research-papers-search.js';
import { sentimentClassification } from './sentiment-classification.js';
import { toxicityDetection } from './toxicity-detection.js';

/** By the names in the contract, in its order. */
export const recipes: Readonly<Record<PretrainedModelName, Recipe>> = {
  'customer-review': customerReview,
  'sentiment-classification': sentimentClassification,
  'emotion-detection': emotionDetection,
  'toxicity-detection': toxicityDetection,
  'news-classification': newsClassification,
  'financial-customer-support': financialCustomerSupport,
  'financial-sentiment-analysis': financialSentimentAnalysis,
  'conversational-language-understanding-english': conversationalEnglish,
  'conversational-language-understanding-japanese': conversationalJapanese,
  'named-entity-recognition': namedEntityRecognition,
  'research-papers-search': researchPapersSearch,
};

/** The recipes with these names, or all of them. @throws Error that names the models there are. */
export function recipesNamed(names: readonly string[]): Recipe[] {
  if (names.includes('all')) return Object.values(recipes);
  return names.map((name) => {
    const recipe = Object.values(recipes).find((each) => each.name === name);
    if (recipe === undefined) throw new Error(`no model ${name}: there are ${Object.keys(recipes).join(', ')}`);
    return recipe;
  });
}
