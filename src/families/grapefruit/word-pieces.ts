import type { Encoding } from '../../tokenizer/index.js';
import type { TextOutputs } from '../family.js';

/** Words of a text by where they start, in UTF-16 code units, ascending. */
export interface WordPlaces {
  readonly text: string;
  readonly start: number;
}

/** A sentence as the encoder reads it. */
export const sentenceText = (words: readonly string[]): string => words.join(' ');

/** Where the words of {@link sentenceText} are. */
export function sentencePlaces(words: readonly string[]): WordPlaces[] {
  let start = 0;
  return words.map((text) => {
    const place = { text, start };
    start += text.length + 1;
    return place;
  });
}

/**
 * The token that answers for each word: its first piece, as in BERT's NER (Devlin et al. 2019, 5.3); −1 for a word
 * that the encoding has no beginning of.
 */
export function firstPieces(
  { ids, offsets, sequenceIds }: Encoding,
  words: readonly WordPlaces[],
): Int32Array {
  const first = new Int32Array(words.length).fill(-1);
  if (offsets === null) return first;
  let word = 0;
  for (let token = 0; token < ids.length; token += 1) {
    if (sequenceIds[token] !== 0) continue;
    const start = offsets[2 * token] ?? 0;
    while (start >= (words[word + 1]?.start ?? Number.POSITIVE_INFINITY)) word += 1;
    if (first[word] !== -1) continue;
    if (startsWord(start, words[word], token === 1)) first[word] = token;
  }
  return first;
}

/** A window of a long text may begin inside a word; elsewhere the first piece seen is the first there is. */
function startsWord(start: number, word: WordPlaces | undefined, isFirstOfWindow: boolean): boolean {
  return word !== undefined && start >= word.start && (!isFirstOfWindow || start === word.start);
}

/**
 * The encoder's outputs for each word; 0 for words that no window has. Of several windows, the one counts in which the
 * word is farthest from an edge, where the encoder sees the most around it.
 * @returns [words, outputs].
 */
export function wordOutputs(windows: TextOutputs, words: readonly WordPlaces[], width: number): Float32Array {
  const outputs = new Float32Array(words.length * width);
  const distances = new Int32Array(words.length).fill(-1);
  for (const { encoding, outputs: tokens } of windows) {
    for (const [word, token] of firstPieces(encoding, words).entries()) {
      const distance = token === -1 ? -1 : Math.min(token, encoding.ids.length - 1 - token);
      if (distance <= (distances[word] ?? -1)) continue;
      distances[word] = distance;
      outputs.set(tokens.subarray(token * width, (token + 1) * width), word * width);
    }
  }
  return outputs;
}
