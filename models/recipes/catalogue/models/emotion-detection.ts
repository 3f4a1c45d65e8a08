import { publishedSplit, publishedTest } from '../datasets/published.js';
import type { ClassifierRecipe } from '../recipe.js';

export const emotionDetection: ClassifierRecipe = {
  name: 'emotion-detection',
  job: 'emotion-detection',
  family: 'Papaya',
  type: 'multilabel-text-classification',
  language: 'english',
  does: 'Tells which of 27 emotions a text shows, several or none of them, or that it is neutral.',
  example: 'Thank you so much, this made my day!',
  notes: ['A score above 0.5 means that the text shows the emotion; scores do not add up to 1.'],
  sources: [
    {
      title: 'GoEmotions (Demszky et al. 2020)',
      licence: 'Apache-2.0',
      read: publishedSplit('goemotions'),
    },
  ],
  tests: [
    {
      title: 'GoEmotions, test',
      references: [{ figure: 'BERT-base macro-F1 0.46', from: 'Demszky et al. 2020' }],
      read: publishedTest('goemotions'),
    },
  ],
  training: { data_augmentation: true },
  weaknesses: [
    'Grief, pride, relief and nervousness have few comments in the data; they are its least reliable labels.',
    'Neighbours are mixed up: annoyance and anger, admiration and approval, disappointment and sadness. The people who labelled the data disagreed there too.',
    'It learned from comments on Reddit, many of them American and male, in English, with names masked as [NAME]. Feelings in letters or books are put differently.',
    'Emotion words set it off even where somebody only writes about an emotion.',
  ],
};
