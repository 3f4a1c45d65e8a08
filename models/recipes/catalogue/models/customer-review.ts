import { denials } from '../datasets/denials.js';
import { readFeelings } from '../datasets/feelings.js';
import { labelled, publishedTest } from '../datasets/published.js';
import { readCustomerReviews, readMovieReviews, readProsAndCons } from '../datasets/reviews.js';
import { sentimentKinds } from '../kinds/sentiment.js';
import type { ClassifierRecipe, LabelledText } from '../recipe.js';

/** IMDB's labels and our names for them. */
const judgements: Readonly<Record<string, string>> = { neg: 'negative', pos: 'positive' };
const renamed = ({ text, labels }: LabelledText): LabelledText => ({
  text,
  labels: labels.map((label) => judgements[label] ?? label),
});

export const customerReview: ClassifierRecipe = {
  name: 'customer-review',
  job: 'customer-review',
  family: 'Papaya',
  type: 'binary-text-classification',
  labels: ['negative', 'positive'],
  language: 'english',
  does: 'Tells whether a review, or a sentence of one, is negative or positive.',
  example: 'The battery lasts two days and the screen is a joy.',
  sources: [
    {
      title: 'Pros and cons of products (Liu, Hu & Cheng 2005; from NLTK)',
      licence: 'CC BY 4.0',
      remark: 'every fourth phrase',
      // On dev rows, more phrases make the lexical expert better at phrases and worse at whole reviews: a
      // compromise.
      async read(datasets) {
        const phrases = await readProsAndCons(datasets);
        return { train: phrases.filter((_, at) => at % 4 === 0) };
      },
    },
    {
      title: 'Movie reviews 2.0 (Pang & Lee 2004; from NLTK)',
      licence: 'CC BY 4.0',
      read: async (datasets) => ({ train: await readMovieReviews(datasets) }),
    },
    {
      title: 'Customer reviews (Hu & Liu 2004)',
      licence: 'CC BY 4.0',
      read: (datasets) => ({ train: readCustomerReviews(datasets) }),
    },
    {
      title: 'IMDB, train (Maas et al. 2011)',
      licence: 'none stated',
      restricted: 'no licence is stated where it was found',
      read(datasets) {
        const { train, dev } = labelled('imdb', datasets);
        return { train: [...train, ...dev].map(renamed) };
      },
    },
    {
      title: 'Sentences written for this model',
      licence: 'Apache-2.0',
      supplement: true,
      remark: 'praise and blame, plain, negated, compared and outweighed',
      read: () => ({ train: denials() }),
    },
  ],
  tests: [
    {
      title: 'IMDB, test',
      references: [
        { figure: 'NBSVM with bigrams 91.2', from: 'Wang & Manning 2012' },
        { figure: 'word vectors with bag of words 88.9', from: 'Maas et al. 2011' },
      ],
      read: (datasets) => labelled('imdb', datasets).test.map(renamed),
    },
  ],
  elsewhere: [
    { title: 'sentences about films (SST-2, test)', read: publishedTest('sst2') },
    { title: 'comments whose emotions share one sentiment (GoEmotions, test)', read: readFeelings },
  ],
  kinds: sentimentKinds,
  // Six million tokens: one epoch takes as long as the whole training of most other models.
  training: { num_epochs: 1 },
  alternative:
    'In a clone of Orchard, `npx tsx models/recipes/catalogue/main.ts train customer-review --free --datasets <folder> --work <folder>` makes it without IMDB, from CC BY 4.0 reviews and sentences written for it.',
  weaknesses: [
    'There is no neutral label: "It arrived on Tuesday." still gets one of the two, at best with a score near one half.',
    'Most of the texts it learned from are about films; the products in the others are cameras, players, phones and the like from about 2004. Restaurants, hotels, apps and services are new to it.',
    'The encoder reads only the beginning of a long review. The words after it count only through the lexical expert.',
    'A mixed review gets the label of the side that takes more words; irony is mostly taken literally.',
  ],
};
