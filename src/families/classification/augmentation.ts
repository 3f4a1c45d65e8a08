import { Random } from '../../system/index.js';
import { editWords } from '../words.js';
import type { LabelledText } from './classification-dataset.js';

/**
 * One edited copy of every row, its label kept: words dropped or swapped with a neighbour, words mistyped, punctuation
 * left out, or handles, hashtags, addresses and emoji around it; one or two of these. Edits that change nothing give no
 * copy, and texts too short to do without a word keep all of theirs.
 */
export function augmentTexts(rows: readonly LabelledText[], seed: number): LabelledText[] {
  const random = Random.fromSeed(seed);
  return rows.flatMap(({ text, labelIds }) => {
    const edited = random
      .shuffle(edits)
      .slice(0, 1 + random.integer(2))
      .reduce((sofar, edit) => edit(sofar, random), text);
    return edited === text ? [] : [{ text: edited, labelIds }];
  });
}

const edits: readonly ((text: string, random: Random) => string)[] = [
  (text, random) => editWords(text, random),
  withSlips,
  withoutPunctuation,
  asPosted,
];

/** Share of the words that get a slip. */
const SLIPS = 0.2;
/** Words that may get one: four letters or more, of a script that writes sounds. */
const SPELLED = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]{4,}$/u;

/** A text in which about one word in five is mistyped. */
export function withSlips(text: string, random: Random): string {
  return text
    .split(' ')
    .map((word) => (SPELLED.test(word) && random.uniform() < SLIPS ? slip(word, random) : word))
    .join(' ');
}

/**
 * A word with one slip: two letters that change places, or one that is missing, doubled or another of the word's. First
 * and last letter stay, as readers and writers hold on to them (Pruthi et al. 2019, "Combating Adversarial
 * Misspellings").
 * @param word of four letters or more.
 */
export function slip(word: string, random: Random): string {
  const letters = [...word];
  const at = 1 + random.integer(letters.length - 2);
  const letter = letters[at] ?? '';
  switch (random.integer(4)) {
    case 0: {
      const left = Math.min(at, letters.length - 3);
      return letters.toSpliced(left, 2, ...letters.slice(left, left + 2).reverse()).join('');
    }
    case 1:
      return letters.toSpliced(at, 1).join('');
    case 2:
      return letters.toSpliced(at, 0, letter).join('');
    default:
      return letters.with(at, letters[random.integer(letters.length)] ?? letter).join('');
  }
}

/** Words of handles and hashtags that say nothing of what a text is about. */
const TAGS = ['today', 'fyi', 'thread', 'update', 'now', 'people', 'one', 'just', 'really', 'monday'];
/** Such as stand under any text, whatever its mood. */
const EMOJI = ['👀', '📌', '🤔', '📱', '👇', '🙋', '💬', '🔔'];
const ADDRESS_CHARACTERS = 'ABCDEFabcdefghijkmnpqrstuvwxyz0123456789';

/** A text among what stands around it in posts: a handle before it, hashtags, an address or an emoji behind it. */
function asPosted(text: string, random: Random): string {
  const tag = () => TAGS[random.integer(TAGS.length)] ?? '';
  const address = () =>
    Array.from({ length: 8 }, () => ADDRESS_CHARACTERS.charAt(random.integer(ADDRESS_CHARACTERS.length))).join('');
  const before = [() => `@${tag()}${random.integer(100)}`, () => `@${tag()}_${tag()}`];
  const behind = [
    () => `#${tag()}`,
    () => `https://t.co/${address()}`,
    () => EMOJI[random.integer(EMOJI.length)] ?? '',
  ];
  const some = (pieces: readonly (() => string)[]) =>
    pieces.filter(() => random.uniform() < 0.5).map((piece) => piece());
  return [...some(before), text, ...some(behind)].join(' ');
}

/** Without its punctuation; the text itself if nothing else is in it. */
export function withoutPunctuation(text: string): string {
  const rest = text
    .replaceAll(/\p{P}+/gu, ' ')
    .replaceAll(/\s+/gu, ' ')
    .trim();
  return rest === '' ? text : rest;
}
