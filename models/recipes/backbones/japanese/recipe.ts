import { passagesOfLine } from '../corpus/neighbours.js';
import { maskedLanguage, type Neighbours } from '../masked-language/masked-language.js';
import type { Recipe } from '../recipe.js';
import { learningSettings, MAX_PASSAGE_TOKENS, SEED } from '../settings.js';
import { japaneseTokenizer } from './vocabulary.js';

export const japanese: Recipe = {
  language: 'japanese',
  name: (size) => `japanese-${size}`,
  tokenizer: japaneseTokenizer,
  objective(work, encoder, tokenizer, batchSize) {
    const { validationExamples } = learningSettings;
    const ids = (text: string) => tokenizer.encode(text, { maxLength: MAX_PASSAGE_TOKENS }).ids;
    const examples = work.readPassages().map((line): Neighbours => {
      const [first = '', second = first] = passagesOfLine(line);
      return [ids(first), ids(second)];
    });
    return maskedLanguage({
      encoder,
      specialTokens: tokenizer.specialTokens,
      train: examples.slice(validationExamples),
      validation: examples.slice(0, validationExamples),
      batchSize,
      seed: SEED,
    });
  },
  curve: { axis: 'nats', measures: { words: 'hidden tokens', neighbours: 'neighbours' } },
  leftOut: [],
  teachers: [],
  options: [],
  cased: false,
  capitalsShown: false,
};
