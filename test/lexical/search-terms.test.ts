import { describe, expect, it } from 'vitest';
import { searchWords, stemEnglish } from '../../src/lexical/bm25.js';

describe('searchWords', () => {
  it.each([
    ['words in lower case, without punctuation', 'Who wrote "Dracula"?', ['who', 'wrote', 'dracula']],
    ['numbers and letters with marks', 'Café 42, naïve', ['café', '42', 'naïve']],
    ['an English possessive without its ending', "Beyoncé's and Jones’s", ['beyoncé', 'and', 'jones']],
    ['compatibility forms as their plain ones', 'ﬁne ＡＢＣ', ['fine', 'abc']],
    ['pairs of letters where words are not set apart', '東京都', ['東京', '京都']],
    ['a single such letter', '犬 runs', ['犬', 'runs']],
    ['both kinds in one run', '東京tower東京', ['東京', 'tower', '東京']],
    ['kana with their long vowel mark', 'タワー', ['タワ', 'ワー']],
    ['letters beyond the first 65,536 whole', '𠮷野家', ['𠮷野', '野家']],
    ['nothing of punctuation alone', ' … — !? ', []],
  ])('gives %s', (_, text, words) => {
    expect(searchWords(text)).toEqual(words);
  });
});

describe('stemEnglish', () => {
  it('removes endings, as in the examples of Porter 1980', () => {
    expect(['caresses', 'ponies', 'hopping', 'relational'].map(stemEnglish)).toEqual([
      'caress',
      'poni',
      'hop',
      'relat',
    ]);
  });

  it('leaves alone what is not a plain English word', () => {
    expect(['cafés', '1990s', '東京'].map(stemEnglish)).toEqual(['cafés', '1990s', '東京']);
  });
});
