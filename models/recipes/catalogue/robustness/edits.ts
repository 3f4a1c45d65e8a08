import type { TaggedSentence } from '../../../../bench/datasets/tagged-sentences.js';
import { withoutPunctuation, withSlips } from '../../../../src/families/index.js';
import { Random } from '../../../../src/system/index.js';

/** What users make of a text that a publisher's test shows at its neatest. Each edit keeps what the text says. */

/** An edit of single words, which sentences with a tag for each word can have, too. */
interface WordEdit {
  readonly name: string;
  readonly word: (word: string, random: Random) => string;
}

/** An edit of a whole text. */
interface TextEdit {
  readonly name: string;
  readonly text: (text: string, random: Random) => string;
}

export type Edit = WordEdit | TextEdit;

/** Such as stand under any text, whatever its mood; none of them is among those of `data_augmentation`. */
const EMOJI = ['📎', '👋', '🌍', '🕒', '📷'];

const lowerCase: WordEdit = { name: 'lower case', word: (word) => word.toLowerCase() };
const capitals: WordEdit = { name: 'capitals', word: (word) => word.toUpperCase() };
/** About one word in five has a slip of the pen. */
const typos: WordEdit = { name: 'typos', word: withSlips };
const noPunctuation: TextEdit = { name: 'no punctuation', text: withoutPunctuation };
const emoji: TextEdit = {
  name: 'emoji',
  text: (text, random) => `${text} ${EMOJI[random.integer(EMOJI.length)]}`,
};
const tweet: TextEdit = {
  name: 'as a tweet',
  text: (text) => `@someone ${text} #justsaying https://t.co/x1Y2z3`,
};

/** Of languages whose words are set apart by spaces, and have two cases. */
const ofSpacedWords: readonly Edit[] = [lowerCase, capitals, typos, noPunctuation, emoji, tweet];
const ofAnyLanguage: readonly Edit[] = [noPunctuation, emoji, tweet];

export const textEdits = (language: 'english' | 'japanese'): readonly Edit[] =>
  language === 'japanese' ? ofAnyLanguage : ofSpacedWords;

/** The edits that leave a tag for each word. */
export const sentenceEdits: readonly WordEdit[] = [lowerCase, capitals, typos];

/** @returns the text itself if the edit would leave nothing of it. */
export function editText(edit: Edit, text: string, random: Random): string {
  const edited = 'text' in edit ? edit.text(text, random) : text.replaceAll(/\S+/gu, (word) => edit.word(word, random));
  return edited === '' ? text : edited;
}

export function editSentence(edit: WordEdit, { words, tags }: TaggedSentence, random: Random): TaggedSentence {
  return { words: words.map((word) => edit.word(word, random)), tags };
}

/** The same edits of the same rows in every run. */
export const randomOf = (row: number): Random => Random.fromSeed(1, row);
