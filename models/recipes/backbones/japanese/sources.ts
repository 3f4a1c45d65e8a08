/** Texts that Japanese students are trained on, and texts that they must not have read. */
import { labelled, measuredRows, plainText, separateLines, type TextSource } from '../corpus/text-source.js';

export const sources: readonly TextSource[] = [
  plainText('ja_aozora_modern_kana.txt.br'),
  plainText('ja_wikinews.txt.br'),
  plainText('ja_react_docs.txt.br', undefined, withoutMarkup),
  separateLines('ja_tanaka_sentences.txt.br'),
  // The sentences of ner_wikipedia_ja, without its tags.
  separateLines('ja_wikipedia_ner_sentences.txt'),
  labelled('massive_ja'),
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
