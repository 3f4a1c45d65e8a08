import { labelled, measuredRows, plainText, separateLines, type TextSource } from '../corpus/text-source.js';

/** Texts that Japanese students are trained on, and texts that they must not have read. */

/** Of literature only a part, as most of it is a hundred years old. */
export const sources: readonly TextSource[] = [
  plainText('ja_aozora_modern_kana.txt.br', {
    licence: 'public domain',
    credit: 'Aozora Bunko, works in modern kana',
    maxCharacters: 2_500_000,
  }),
  plainText('ja_wikinews.txt.br', { licence: 'CC BY 2.5', credit: 'Japanese Wikinews' }),
  plainText('ja_react_docs.txt.br', { licence: 'CC BY 4.0', credit: "React's Japanese documentation" }, withoutMarkup),
  separateLines('ja_tanaka_sentences.txt.br', {
    licence: 'CC BY 2.0',
    credit: 'Tanaka corpus, from Tatoeba',
  }),
  separateLines('ja_wikipedia_ner_sentences.txt', {
    licence: 'CC BY-SA 3.0',
    credit: "Sentences of Wikipedia, those of stockmark's ner-wikipedia-dataset without its tags",
  }),
  labelled('massive_ja', { licence: 'CC BY 4.0', credit: 'MASSIVE ja-JP, train (FitzGerald et al. 2023)' }),
];

/** Dev and test rows of every Japanese dataset that the benchmarks and the catalogue report. */
export const measuredTexts = (root: string): Generator<string> => measuredRows('massive_ja', root);

/**
 * Markdown without markup: links become their texts, and the marks of headings, lists, emphasis and code go.
 */
function withoutMarkup(document: string): string {
  return document
    .replaceAll(/\]\([^)]*\)/gu, '')
    .replaceAll(/^(?:description:|#+|[-*>])\s+/gmu, '')
    .replaceAll(/[[\]*`]/gu, '');
}
