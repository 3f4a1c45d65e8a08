import type { TaggedSentences } from '../../../../bench/datasets/tagged-sentences.js';
import { withOtherCase } from '../datasets/other-case.js';
import { tagged } from '../datasets/published.js';
import { withCommonTypes } from '../entity-types.js';
import type { Source, TaggerRecipe, TestSet } from '../recipe.js';

type Sentences = TaggedSentences['train'];

/** Of every so many dev sentences, one is used: WikiANN has ten thousand, which would outweigh the tweets. */
const DEV_STEPS: Readonly<Record<string, number>> = { wikiann_en: 5 };

function source(name: string, description: Omit<Source<Sentences[number]>, 'read'>): TaggerRecipe['sources'][number] {
  return {
    ...description,
    read(datasets) {
      const { train, dev } = tagged(name, datasets);
      const step = DEV_STEPS[name] ?? 1;
      return {
        train: withOtherCase(train.map(withCommonTypes)),
        dev: dev.filter((_, row) => row % step === 0).map(withCommonTypes),
      };
    },
  };
}

function test(name: string, description: Omit<TestSet<Sentences>, 'read'>): TestSet<Sentences> {
  return { ...description, read: (datasets) => tagged(name, datasets).test.map(withCommonTypes) };
}

export const namedEntityRecognition: TaggerRecipe = {
  name: 'named-entity-recognition',
  job: 'named-entities',
  family: 'Grapefruit',
  language: 'english',
  does: 'Finds the people (PER), places (LOC) and organizations (ORG) in a text, with their positions.',
  example: 'Ada Lovelace met Charles Babbage in London.',
  notes: [
    "Each of the three corpora has its own types. WNUT17's corporations and groups are ORG here. Its products and creative works are left out: the other corpora don't tag such words, and a model that sees them tagged in some sentences and untagged in others learns neither.",
    'All three tests are scored with these types, so the figure on WNUT17 is not directly comparable with those of the shared task, which had six types.',
    'Every fourth training sentence was also read in lower case, and every eighth in capitals.',
    'In the tests, an entity counts as right if its type, beginning and end are right. The texts are given as words with spaces between them.',
  ],
  sources: [
    source('wikiann_en', {
      title: 'WikiANN en (Pan et al. 2017; split of Rahimi et al. 2019)',
      licence: 'none stated; ODC-BY where it is published',
      restricted: 'no licence is stated where it was found',
      remark: 'tagged from Wikipedia links, not by people; every fifth dev sentence',
    }),
    source('ner_btc', {
      title: 'Broad Twitter Corpus, sections a, b, e, g; h for dev (Derczynski et al. 2016)',
      licence: 'CC BY 4.0',
    }),
    source('wnut17', {
      title: 'WNUT17 (Derczynski et al. 2017)',
      licence: 'CC BY 4.0',
      remark: 'with the three common types',
    }),
  ],
  tests: [
    test('wikiann_en', {
      title: 'WikiANN en, test',
      references: [{ figure: 'multilingual BERT 85.2', from: 'Hu et al. 2020 (XTREME)' }],
    }),
    test('ner_btc', { title: 'Broad Twitter Corpus, section f' }),
    test('wnut17', {
      title: 'WNUT17, test, three types',
      references: [{ figure: 'best system 41.9, on six types', from: 'Derczynski et al. 2017' }],
    }),
  ],
  training: { preprocessing: { lowercase: false }, num_epochs: 6 },
  alternative:
    'In a clone of Orchard, `npx tsx models/recipes/catalogue/main.ts train named-entity-recognition --free --datasets <folder> --work <folder>` makes it without WikiANN, from CC BY 4.0 tweets alone.',
  weaknesses: [
    'Names that appeared after 2017, and names in texts without capitals or all in capitals, are found less reliably.',
    'Nationalities, languages, dates, amounts, products and titles of works are not entities here.',
    'WikiANN was tagged automatically and is full of headings and lists; what the model learned about long sentences comes mostly from tweets.',
    'A country or town that stands for its team or government is sometimes labelled LOC and sometimes ORG.',
    'Most names in the data are American and European; others are found less reliably.',
  ],
};
