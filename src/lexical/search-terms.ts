import { stemmer } from 'stemmer';

const word = /[\p{L}\p{N}\p{M}]+/gu;
/** Letters and marks of scripts that are written without spaces between words. */
const unspaced =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+/gu;
/** The mark first, so that a look-behind is tried at marks only. */
const englishPossessive = /['’](?<=\p{L}.)s(?![\p{L}\p{N}\p{M}])/gu;

/**
 * The words of a text as a search compares them: compatibility forms folded (NFKC), in lower case. In scripts
 * without spaces between words, every two consecutive letters are a word.
 */
export function searchWords(text: string): string[] {
  const folded = text.normalize('NFKC').toLowerCase().replace(englishPossessive, '');
  const words = folded.match(word) ?? [];
  if (folded.search(unspaced) === -1) return words;
  return words.flatMap((each) => (each.search(unspaced) === -1 ? [each] : split(each)));
}

/** `東京tower` → `東京`, `tower`; `東京都` → `東京`, `京都`. */
function split(mixed: string): string[] {
  const runs = mixed.replace(unspaced, ' $& ').trim().split(/ +/);
  return runs.flatMap((run) => (run.search(unspaced) === -1 ? [run] : bigrams(run)));
}

function bigrams(run: string): string[] {
  const letters = [...run];
  if (letters.length < 2) return letters;
  return letters.slice(1).map((letter, before) => `${letters[before]}${letter}`);
}

/** The stem of an English word (Porter 1980); a word with other letters than a to z stays as it is. */
export function stemEnglish(word: string): string {
  return /^[a-z]+$/.test(word) ? stemmer(word) : word;
}
