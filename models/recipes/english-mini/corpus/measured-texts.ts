import { readers } from '../../../../bench/datasets/labelled-texts.js';
import { questionReaders } from '../../../../bench/datasets/questions.js';
import { taggedReaders } from '../../../../bench/datasets/tagged-sentences.js';
import { sentencesOf } from './sentences.js';
import { readJigsaw, readSquad } from './sources.js';

/** Sentences of fewer words are too common to tell that a text was copied. */
const TELLING_WORDS = 6;

/** Letters and digits alone: what stays of a text when case, spacing and punctuation are set aside. */
export const foldText = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '');

/** Texts that models are measured on, and the telling sentences in them: no passage may repeat one. */
export class MeasuredTexts {
  readonly #folded = new Set<string>();

  constructor(texts: Iterable<string>) {
    for (const text of texts) {
      this.#folded.add(foldText(text));
      for (const sentence of sentencesOf(text)) {
        if (sentence.split(/\s+/u).length >= TELLING_WORDS) this.#folded.add(foldText(sentence));
      }
    }
  }

  /** Whether this text, or sentence, is one of them, but for case, spacing and punctuation. */
  has(text: string): boolean {
    return this.#folded.has(foldText(text));
  }
}

/** Dev and test rows of every English dataset that the benchmarks and the catalogue report on. */
export function* measuredTexts(root: string): Generator<string> {
  for (const [name, read] of Object.entries(readers)) {
    if (name === 'massive_ja') continue;
    const { dev, test } = read(root);
    for (const { text } of [...dev, ...test]) yield text;
  }
  for (const read of Object.values(taggedReaders)) {
    const { dev, test } = read(root);
    for (const { words } of [...dev, ...test]) yield words.join(' ');
  }
  for (const passage of questionReaders.scifact?.(root).passages ?? []) yield passage;
  for (const { question } of questionReaders.scifact?.(root).test ?? []) yield question;
  yield* readSquad(root).measured;
  yield* readJigsaw(root).measured;
}
