import { readHeadlines } from '../datasets/headlines.js';
import { newsParagraphs } from '../datasets/news-paragraphs.js';
import { labelled, publishedTest, publishedTraining } from '../datasets/published.js';
import { reviewSentences } from '../datasets/sentences.js';
import type { ClassifierRecipe } from '../recipe.js';

export const newsClassification: ClassifierRecipe = {
  name: 'news-classification',
  job: 'news-classification',
  family: 'Papaya',
  type: 'multiclass-text-classification',
  labels: ['Business', 'Sci/Tech', 'Sports', 'World'],
  language: 'english',
  does: 'Tells which of four sections a news report belongs to: World, Sports, Business or Sci/Tech.',
  example: 'The central bank raised its key rate for the third time this year.',
  notes: [
    'AG News was published for research and other **non-commercial** use. Whether this also binds a model trained on it is for you to judge; if it matters to you, train your own.',
    'Of the 120,000 training articles, 47,674 were available. The published figures are those of models that were trained on all 120,000.',
  ],
  sources: [
    {
      title: 'AG News, a part of train (Gulli; Zhang, Zhao & LeCun 2015)',
      licence: 'non-commercial',
      restricted: 'given for non-commercial use',
      read: publishedTraining('ag_news'),
    },
  ],
  unlabelled: [
    {
      title: 'AG News, a part of train (Gulli; Zhang, Zhao & LeCun 2015)',
      licence: 'non-commercial',
      restricted: 'given for non-commercial use',
      remark: 'sentences',
      most: 40_000,
      read: (datasets) => reviewSentences(labelled('ag_news', datasets).train),
    },
    { title: 'English Wikinews', licence: 'CC BY 2.5', remark: 'paragraphs', most: 5_000, read: newsParagraphs },
    {
      title: 'SEntFiN 1.0 (Sinha et al. 2022)',
      licence: 'MIT',
      remark: 'headlines',
      most: 5_000,
      read: (datasets) => readHeadlines(datasets).map(({ text }) => text),
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
    'Its labelled articles are from about 2004, and it takes some names of that time as signs of a topic. It knows later news only from paragraphs of Wikinews and headlines about companies.',
    'Business and Sci/Tech overlap: news about a technology company may get either label.',
    'It has only these four sections, so news about health, culture or weather is put into one of them.',
    'It learned from titles with one or two sentences. The encoder reads only the beginning of a long article.',
  ],
};
