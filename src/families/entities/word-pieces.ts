import type { Encoding, TextOutputs } from '../../text/index.js';
import type { Word } from '../words.js';

export const sentenceText = (words: readonly string[]): string => words.join(' ');

/** Where the words are in {@link sentenceText}. */
export function sentencePlaces(words: readonly string[]): Word[] {
  let start = 0;
  return words.map((text) => {
    const place = { text, start };
    start += text.length + 1;
    return place;
  });
}

/** Where words are in the text that they are of. @param text default: {@link sentenceText} */
export function placesIn(words: readonly string[], text: string | undefined): Word[] {
  if (text === undefined) return sentencePlaces(words);
  let end = 0;
  return words.map((word) => {
    const start = text.indexOf(word, end);
    end = start + word.length;
    return { text: word, start };
  });
}

interface WordPiece {
  readonly word: number;
  readonly token: number;
}

/**
 * The first piece of each word that begins in an encoding, by which it is judged, as in BERT's NER (Devlin et al. 2019,
 * 5.3). Words that the tokenizer drops entirely have none.
 */
export function firstPieces({ ids, offsets, sequenceIds }: Encoding, words: readonly Word[]): readonly WordPiece[] {
  if (offsets === null) return [];
  const first: WordPiece[] = [];
  const firstToken = sequenceIds.indexOf(0);
  let word = lastBeginningBy(words, offsets[2 * firstToken] ?? 0);
  let last = isCut(words, word, offsets[2 * firstToken] ?? 0) ? word : -1;
  for (let token = firstToken; token < ids.length && sequenceIds[token] === 0; token += 1) {
    // By its end: a piece may begin with the space before its word, or be such a space alone.
    const end = offsets[2 * token + 1] ?? 0;
    if (end === offsets[2 * token]) continue;
    while (end > (words[word + 1]?.start ?? Number.POSITIVE_INFINITY)) word += 1;
    if (word === last) continue;
    last = word;
    first.push({ word, token });
  }
  return first;
}

function lastBeginningBy(words: readonly Word[], place: number): number {
  let first = 0;
  let end = words.length;
  while (first < end) {
    const middle = Math.floor((first + end) / 2);
    if ((words[middle]?.start ?? 0) <= place) first = middle + 1;
    else end = middle;
  }
  return first - 1;
}

/**
 * Whether a window that begins at `place` begins inside a word. The first word of a text is never cut: what is missing
 * was dropped by the tokenizer, a mark for the direction of writing, say.
 */
function isCut(words: readonly Word[], word: number, place: number): boolean {
  return word > 0 && (words[word]?.start ?? place) < place;
}

/**
 * 0 for words in no window; of several windows, the one counts where the word is farthest from an edge and has most
 * context.
 * @returns [words, outputs]
 */
export function wordOutputs(windows: TextOutputs, words: readonly Word[], width: number): Float32Array {
  const outputs = new Float32Array(words.length * width);
  const distances = new Int32Array(words.length).fill(-1);
  for (const { encoding, outputs: tokens } of windows) {
    for (const { word, token } of firstPieces(encoding, words)) {
      const distance = Math.min(token, encoding.ids.length - 1 - token);
      if (distance <= (distances[word] ?? -1)) continue;
      distances[word] = distance;
      for (let output = 0; output < width; output += 1) {
        outputs[word * width + output] = tokens[token * width + output] ?? 0;
      }
    }
  }
  return outputs;
}
