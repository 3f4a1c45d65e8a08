import { counterExamples } from '../datasets/counter-examples.js';
import { disguisedWords } from '../datasets/disguised-words.js';
import { publishedTest, publishedTraining } from '../datasets/published.js';
import { reviewSentences } from '../datasets/sentences.js';
import { readJigsaw, readParadetox, readToxicSpans, readTweets } from '../datasets/toxicity.js';
import { toxicityKinds } from '../kinds/toxicity.js';
import type { ClassifierRecipe } from '../recipe.js';

/** They are few next to the answers of the teacher. */
const COUNTER_EXAMPLE_WEIGHT = 3;

export const toxicityDetection: ClassifierRecipe = {
  name: 'toxicity-detection',
  job: 'toxicity-detection',
  family: 'Papaya',
  type: 'binary-text-classification',
  labels: ['non-toxic', 'toxic'],
  language: 'english',
  does: 'Tells whether a comment is insulting, threatening or obscene.',
  example: 'Thanks for explaining, I had not seen it that way.',
  notes: [
    'Each source has its own definition of toxic. Jigsaw: a rude, disrespectful or unreasonable comment that may make people leave a discussion. ParaDetox: a sentence that annotators found toxic; its polite rewordings are the non-toxic rows. Toxic Spans: a comment in which annotators marked toxic words. Davidson et al.: hate speech and merely offensive language both count as toxic here.',
    'The test is from the second half of each label in Jigsaw. It has only comments that the backbone has not read, the same number for each label. These are the shorter ones, with 200 characters on average.',
  ],
  sources: [
    {
      title: 'ParaDetox (Logacheva et al. 2022)',
      licence: 'CC0 1.0',
      read: (datasets) => ({ train: readParadetox(datasets) }),
    },
    {
      title: 'Toxic Spans (Pavlopoulos et al. 2021)',
      licence: 'CC0 1.0',
      remark: 'comments with at least one marked span',
      read: (datasets) => ({ train: readToxicSpans(datasets) }),
    },
    {
      title: 'Hate speech and offensive language (Davidson et al. 2017)',
      licence: 'MIT',
      remark: 'user names and links taken out',
      read: (datasets) => ({ train: readTweets(datasets) }),
    },
    {
      title: 'Jigsaw toxic comments, balanced subset of the test set, first half of each label',
      licence: 'labels CC0, comments of Wikipedia CC BY-SA 3.0; not stated where the subset was found',
      restricted: 'no licence is stated where it was found',
      read: (datasets) => ({ train: readJigsaw(datasets).train }),
    },
    {
      title: 'Sentences written for this model',
      licence: 'Apache-2.0',
      supplement: true,
      remark:
        'insults, threats and slights without swear words, and harmless sentences with the same words; each counts three times in training',
      read: () => ({ train: counterExamples().map((row) => ({ ...row, weight: COUNTER_EXAMPLE_WEIGHT })) }),
    },
    {
      title: 'ParaDetox (Logacheva et al. 2022), again',
      licence: 'CC0 1.0',
      remark: 'with letters replaced by what looks like them, swear words in toxic rows and others in the rest',
      read: (datasets) => ({ train: disguisedWords(readParadetox(datasets)) }),
    },
  ],
  unlabelled: [
    {
      title: 'GoEmotions, train and dev (Demszky et al. 2020)',
      licence: 'Apache-2.0',
      most: 30_000,
      read: (datasets) => publishedTraining('goemotions')(datasets).train.map(({ text }) => text),
    },
    {
      title: 'Toxic Spans (Pavlopoulos et al. 2021), sentences',
      licence: 'CC0 1.0',
      most: 20_000,
      read: (datasets) => reviewSentences(readToxicSpans(datasets)),
    },
    {
      title: 'Jigsaw toxic comments, first half of each label, sentences',
      licence: 'labels CC0, comments of Wikipedia CC BY-SA 3.0; not stated where the subset was found',
      restricted: 'no licence is stated where it was found',
      most: 10_000,
      read: (datasets) => reviewSentences(readJigsaw(datasets).train),
    },
  ],
  tests: [
    {
      title: 'Jigsaw subset, unread comments of the second half of each label',
      read: (datasets) => readJigsaw(datasets).test,
    },
  ],
  training: { data_augmentation: true },
  taughtTraining: { num_epochs: 2 },
  elsewhere: [
    {
      title: 'questions of a bank’s customers, none of them toxic (Banking77, test)',
      read: (datasets) => publishedTest('banking77')(datasets).map(({ text }) => ({ text, labels: ['non-toxic'] })),
    },
    {
      title: 'requests to an assistant, none of them toxic (MASSIVE, test)',
      read: (datasets) => publishedTest('massive_en')(datasets).map(({ text }) => ({ text, labels: ['non-toxic'] })),
    },
  ],
  kinds: toxicityKinds,
  alternative:
    "In a clone of Orchard, `npx tsx models/recipes/catalogue/main.ts train toxicity-detection --free --untaught --datasets <folder> --work <folder>` makes it without Jigsaw's comments.",
  weaknesses: [
    'Single words often decide. Swearing among friends, reclaimed slurs and quoted insults are labelled toxic; contempt in polite words goes unnoticed.',
    'In data such as this, tweets in African American English were labelled offensive more often than others (Sap et al. 2019), and many insults contain names of groups. Expect more false alarms on such texts, and check them before you block anybody.',
    'Half of its test comments are toxic. If only one in a hundred of your texts is, most of its alarms can be wrong even if its accuracy is high: choose a threshold on your own texts.',
    'It does not distinguish hate speech from rudeness, or threats from swearing, and knows only English.',
  ],
};
