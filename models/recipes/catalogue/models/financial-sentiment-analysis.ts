import { readHeadlines, readMixedHeadlines } from '../datasets/headlines.js';
import { labelled } from '../datasets/published.js';
import { reviewSentences } from '../datasets/sentences.js';
import type { ClassifierRecipe, LabelledText } from '../recipe.js';

/** The tweets' labels and our names for them. */
const sentiments: Readonly<Record<string, string>> = {
  bearish: 'negative',
  bullish: 'positive',
  neutral: 'neutral',
};
const renamed = ({ text, labels }: LabelledText): LabelledText => ({
  text,
  labels: labels.map((label) => sentiments[label] ?? label),
});

export const financialSentimentAnalysis: ClassifierRecipe = {
  name: 'financial-sentiment-analysis',
  job: 'financial-sentiment',
  family: 'Papaya',
  type: 'multiclass-text-classification',
  labels: ['negative', 'neutral', 'positive'],
  language: 'english',
  does: 'Tells whether financial news is negative, neutral or positive for its subject.',
  example: 'Shares of the carmaker jump after it beats forecasts.',
  notes: ['In the data, tweets are labelled bearish and bullish instead of negative and positive.'],
  sources: [
    {
      title: 'SEntFiN 1.0 (Sinha et al. 2022)',
      licence: 'MIT',
      remark: 'headlines whose entities are all judged alike',
      read: (datasets) => ({ train: readHeadlines(datasets) }),
    },
    {
      title: 'Twitter financial news sentiment, train (2022)',
      licence: 'MIT according to its page on Hugging Face; none stated where it was found',
      restricted: 'no licence is stated where it was found',
      remark: 'links taken out',
      read(datasets) {
        const { train, dev } = labelled('twitter_financial', datasets);
        return { train: [...train, ...dev].map(renamed) };
      },
    },
  ],
  unlabelled: [
    {
      title: 'AG News, business articles of train (Gulli; Zhang, Zhao & LeCun 2015)',
      licence: 'non-commercial',
      restricted: 'given for non-commercial use',
      remark: 'sentences',
      most: 10_000,
      read: (datasets) =>
        reviewSentences(labelled('ag_news', datasets).train.filter(({ labels }) => labels.includes('Business'))),
    },
    {
      title: 'SEntFiN 1.0, other headlines (Sinha et al. 2022)',
      licence: 'MIT',
      remark: 'headlines whose entities are judged differently',
      most: 2_000,
      read: readMixedHeadlines,
    },
  ],
  teacherTraining: { num_epochs: 2, data_augmentation: false },
  taughtTraining: { num_epochs: 3 },
  tests: [
    {
      title: 'Twitter financial news sentiment, its validation rows',
      read: (datasets) => labelled('twitter_financial', datasets).test.map(renamed),
    },
  ],
  training: { data_augmentation: true },
  alternative:
    'In a clone of Orchard, `npx tsx models/recipes/catalogue/main.ts train financial-sentiment-analysis --free --untaught --datasets <folder> --work <folder>` makes it without the tweets and articles, from headlines under the MIT licence alone.',
  weaknesses: [
    'It judges a headline as a whole. Good news for one company that is bad for another gets one label.',
    'It cannot calculate: the text must say in words whether a number is higher than expected.',
    'The headlines are Indian and the tweets American, both in the style of a news ticker. Annual reports and analyses read differently.',
    'More than a third of its labels are those of a larger model, with its mistakes.',
    'Its answers are not financial advice: what it calls positive has no known bearing on prices.',
  ],
};
