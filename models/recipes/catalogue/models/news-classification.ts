import { publishedTest, publishedTraining } from '../datasets/published.js';
import type { ClassifierRecipe } from '../recipe.js';

export const newsClassification: ClassifierRecipe = {
  name: 'news-classification',
  job: 'news-classification',
  family: 'Papaya',
  type: 'multiclass-text-classification',
  labels: ['World', 'Sports', 'Business', 'Sci/Tech'],
  language: 'english',
  does: 'Tells which of four sections a news report belongs to: World, Sports, Business or Sci/Tech.',
  example: 'The central bank raised its key rate for the third time this year.',
  notes: [
    'AG News was given for research and other **non-commercial** use. Whether a model trained on it is bound by that is for you to judge; train your own where it matters.',
    'Of the 120,000 training articles, 47,674 were at hand. The published figures are of models that read all of them.',
  ],
  sources: [
    {
      title: 'AG News, a part of train (Gulli; Zhang, Zhao & LeCun 2015)',
      licence: 'non-commercial',
      restricted: 'given for non-commercial use',
      read: publishedTraining('ag_news'),
    },
  ],
  tests: [
    {
      title: 'AG News, test',
      references: [
        { figure: 'fastText with bigrams 92.5', from: 'Joulin et al. 2016' },
        { figure: 'n-grams with TF-IDF 92.4', from: 'Zhang, Zhao & LeCun 2015' },
      ],
      read: publishedTest('ag_news'),
    },
  ],
  alternative: 'The catalogue has no free model of news: train one on articles of your own.',
  weaknesses: [
    'The articles are of about 2004. It has never read of smartphones, social networks or anything since, and takes some names of that time for a topic.',
    'Business and Sci/Tech overlap: companies that make technology are put into either.',
    'Four sections are all it has. Health, culture and weather are put into one of them.',
    'It read titles with one or two sentences. Whole articles are cut where the encoder ends.',
  ],
};
