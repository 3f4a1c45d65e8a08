import { publishedTest, publishedTraining } from '../datasets/published.js';
import type { ClassifierRecipe } from '../recipe.js';

export const financialCustomerSupport: ClassifierRecipe = {
  name: 'financial-customer-support',
  job: 'fin-customer-support',
  family: 'Papaya',
  type: 'multiclass-text-classification',
  language: 'english',
  does: 'Tells which of 77 things a customer asks an online bank about.',
  example: 'My card still has not come in the post.',
  sources: [
    {
      title: 'Banking77 (Casanueva et al. 2020)',
      licence: 'CC BY 4.0',
      read: publishedTraining('banking77'),
    },
  ],
  tests: [
    {
      title: 'Banking77, test',
      references: [{ figure: 'BERT fine-tuned 93.7, USE 92.8', from: 'Casanueva et al. 2020' }],
      read: publishedTest('banking77'),
    },
  ],
  training: { data_augmentation: true },
  weaknesses: [
    'Every question gets one of the 77 intents, even one that has nothing to do with banking. A low score is the only hint, and not a reliable one.',
    'It confuses similar intents, such as a transfer that failed, is pending or was declined; some of these rows are labelled wrongly in the data (Ying & Thomas 2022).',
    'The bank in the data is British and has an app: loans, mortgages and branches are not among the intents.',
    'It expects a single question in one or two sentences; in a letter with two requests, it finds only one.',
  ],
};
