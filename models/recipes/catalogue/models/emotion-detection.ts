import { commentSources } from '../datasets/comments.js';
import { publishedSplit, publishedTest } from '../datasets/published.js';
import { readMovieReviews } from '../datasets/reviews.js';
import { reviewSentences } from '../datasets/sentences.js';
import type { ClassifierRecipe } from '../recipe.js';

export const emotionDetection: ClassifierRecipe = {
  name: 'emotion-detection',
  job: 'emotion-detection',
  family: 'Papaya',
  type: 'multilabel-text-classification',
  language: 'english',
  does: 'Tells which of 27 emotions a text shows (one, several or none), or that it is neutral.',
  example: 'Thank you so much, this made my day!',
  notes: ['A score above 0.5 means that the text shows the emotion; scores do not add up to 1.'],
  sources: [
    {
      title: 'GoEmotions (Demszky et al. 2020)',
      licence: 'Apache-2.0',
      read: publishedSplit('goemotions'),
    },
  ],
  unlabelled: [
    ...commentSources,
    {
      title: 'Movie reviews 2.0 (Pang & Lee 2004; from NLTK)',
      licence: 'CC BY 4.0',
      remark: 'sentences',
      most: 8_000,
      read: async (datasets) => reviewSentences(await readMovieReviews(datasets)),
    },
  ],
  teacherTraining: { num_epochs: 2, data_augmentation: false },
  taughtTraining: { num_epochs: 3 },
  mixesLabels: true,
  tests: [
    {
      title: 'GoEmotions, test',
      references: [{ figure: 'BERT-base macro-F1 0.46', from: 'Demszky et al. 2020' }],
      read: publishedTest('goemotions'),
    },
  ],
  training: { data_augmentation: true },
  weaknesses: [
    'Grief, pride, relief and nervousness are rare in the data, so they are the least reliable labels.',
    'It confuses similar emotions: annoyance and anger, admiration and approval, disappointment and sadness. The people who labelled the data disagreed about these, too.',
    'It learned from English comments on Reddit, many of them by Americans and by men, with names masked as [NAME]. Letters and books express feelings differently.',
    'Words for an emotion trigger its label even if the text is only about the emotion.',
  ],
};
