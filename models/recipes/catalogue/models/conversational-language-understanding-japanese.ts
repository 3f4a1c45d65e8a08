import { labelled, publishedSplit, publishedTest } from '../datasets/published.js';
import { MeasuredTexts } from '../leaks.js';
import type { ClassifierRecipe } from '../recipe.js';

export const conversationalJapanese: ClassifierRecipe = {
  name: 'conversational-language-understanding-japanese',
  job: 'conversation-japanese',
  family: 'Papaya',
  type: 'multiclass-text-classification',
  language: 'japanese',
  does: 'Tells which of 60 things a user asks an assistant to do, in Japanese.',
  example: '明日の朝七時に起こして',
  sources: [
    {
      title: 'MASSIVE ja-JP (FitzGerald et al. 2023)',
      licence: 'CC BY 4.0',
      read: publishedSplit('massive_ja'),
    },
  ],
  tests: [
    {
      title: 'MASSIVE ja-JP, test',
      references: [{ figure: 'XLM-R base 85.1, the mean of 51 languages', from: 'FitzGerald et al. 2023' }],
      read: publishedTest('massive_ja'),
    },
    {
      title: 'MASSIVE ja-JP, test, without what its train split repeats',
      read(datasets) {
        const { train, test } = labelled('massive_ja', datasets);
        const trained = new MeasuredTexts(train.map(({ text }) => text));
        return test.filter(({ text }) => !trained.has(text));
      },
    },
  ],
  notes: [
    "Different English requests often have the same Japanese translation, so the publisher's train and test splits share many sentences. These were left out of train; the second test leaves them out of test, too.",
  ],
  training: { data_augmentation: true },
  weaknesses: [
    'It learned from sentences that were translated from English: places, songs and programs are often American, and the wording is closer to a request in a book than to what people say at home.',
    'It gives every text one of the 60 intents, even if none fits, and finds no times, places or names.',
    'The kana and kanji spellings of a word are different words to it; dialects and polite forms beyond です and ます are rare in the data.',
    'It was not pretrained on a large corpus, so it guesses rare words from their characters.',
  ],
};
