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
    'It learned from what people say to a smart speaker: short requests in lower case, without punctuation. It gives every text one of the 60 intents, even if none fits.',
    'It finds only the intent, not the time, place or song that the user names.',
    'Intents such as qa_factoid and general_quirky are catch-alls: they get the texts that it does not recognize.',
    'Some intents, such as music_settings and audio_volume_other, are too rare in the data to be recognized reliably.',
  ],
};
