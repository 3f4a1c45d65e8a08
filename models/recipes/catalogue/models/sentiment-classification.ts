import { commentSources } from '../datasets/comments.js';
import { denials } from '../datasets/denials.js';
import { readFeelings } from '../datasets/feelings.js';
import { labelled, publishedSplit, publishedTest } from '../datasets/published.js';
import { readCustomerReviews, readMovieReviews, readProsAndCons } from '../datasets/reviews.js';
import { reviewSentences } from '../datasets/sentences.js';
import { sentimentKinds } from '../kinds/sentiment.js';
import type { ClassifierRecipe } from '../recipe.js';

export const sentimentClassification: ClassifierRecipe = {
  name: 'sentiment-classification',
  job: 'sentiment-classification',
  family: 'Papaya',
  type: 'binary-text-classification',
  labels: ['negative', 'positive'],
  language: 'english',
  does: 'Tells whether a sentence expresses a negative or a positive opinion.',
  example: 'A warm, funny and quietly moving film.',
  sources: [
    {
      title: 'Stanford Sentiment Treebank, two classes, sentences (Socher et al. 2013)',
      licence: 'none stated; published for research',
      restricted: 'no licence is stated where it was found',
      read: publishedSplit('sst2'),
    },
    {
      title: 'Sentences written for this model',
      licence: 'Apache-2.0',
      supplement: true,
      remark: 'praise and blame, plain, negated, compared and outweighed',
      read: () => ({ train: denials() }),
    },
  ],
  unlabelled: [
    {
      title: 'Movie reviews 2.0 (Pang & Lee 2004; from NLTK)',
      licence: 'CC BY 4.0',
      remark: 'sentences',
      most: 20_000,
      read: async (datasets) => reviewSentences(await readMovieReviews(datasets)),
    },
    {
      title: 'IMDB, train (Maas et al. 2011)',
      licence: 'none stated',
      restricted: 'no licence is stated where it was found',
      remark: 'sentences',
      most: 20_000,
      read: (datasets) => reviewSentences(labelled('imdb', datasets).train),
    },
    ...commentSources,
    {
      title: 'Customer reviews (Hu & Liu 2004)',
      licence: 'CC BY 4.0',
      most: 4_000,
      read: (datasets) => readCustomerReviews(datasets).map(({ text }) => text),
    },
  ],
  training: { data_augmentation: true },
  teacherTraining: { num_epochs: 3 },
  taughtTraining: { num_epochs: 2 },
  mixesLabels: true,
  tests: [
    {
      title: 'SST-2, the 1,821 test sentences',
      references: [
        {
          figure: 'CNN 88.1, with the phrases of the training sentences too',
          from: 'Kim 2014',
        },
        {
          figure: 'BERT-mini 85.9, trained on 67,000 phrases, with capitals',
          from: 'GLUE, as given by google-research/bert',
        },
      ],
      read: publishedTest('sst2'),
    },
  ],
  elsewhere: [
    {
      title: 'phrases about products (Liu, Hu & Cheng 2005)',
      read: readProsAndCons,
    },
    { title: 'comments whose emotions share one sentiment (GoEmotions, test)', read: readFeelings },
  ],
  kinds: sentimentKinds,
  alternative:
    '`customer-review` tells negative from positive, too; in a clone of Orchard, `npx tsx models/recipes/catalogue/main.ts train customer-review --free --datasets <folder> --work <folder>` makes it without such data.',
  weaknesses: [
    'Most sentences it learned from are about films; some are about products, and some are comments and tweets. News and complaints to a company sound different.',
    'There is no neutral label; plain facts also get one of the two.',
    'Most of its labels come from a larger model and include its mistakes. Sentences with irony, comparisons, or a negation far from its word may be misread more often than average.',
    'Names of countries, peoples and film stars may influence the answer, because of the films in whose reviews they occurred.',
  ],
};
