import { publishedSplit, publishedTest } from '../datasets/published.js';
import type { ClassifierRecipe } from '../recipe.js';

export const conversationalEnglish: ClassifierRecipe = {
  name: 'conversational-language-understanding-english',
  job: 'conversation-english',
  family: 'Papaya',
  type: 'multiclass-text-classification',
  language: 'english',
  does: 'Tells which of 60 things a user asks an assistant to do.',
  example: 'Wake me at seven tomorrow.',
  sources: [
    {
      title: 'MASSIVE en-US (FitzGerald et al. 2023)',
      licence: 'CC BY 4.0',
      read: publishedSplit('massive_en'),
    },
  ],
  tests: [
    {
      title: 'MASSIVE en-US, test',
      references: [{ figure: 'XLM-R base 85.1, the mean of 51 languages', from: 'FitzGerald et al. 2023' }],
      read: publishedTest('massive_en'),
    },
  ],
  training: { data_augmentation: true },
  weaknesses: [
    'It knows what people say to a loudspeaker: short, in lower case, without marks. It gives every text one of the 60 intents, also where none fits.',
    'It tells the intent alone, not the time, the place or the song that was named.',
    'Intents such as qa_factoid and general_quirky are catch-alls and take up what it does not know.',
    'Rare intents, music_settings or audio_volume_other for example, are in the data too seldom to be told surely.',
  ],
};
