import type { Random } from '../../../../src/system/index.js';
import type { Tokenizer } from '../../../../src/text/index.js';
import { MAX_PASSAGE_TOKENS } from '../settings.js';

/** [CLS] and [SEP]. */
const ADDED_TOKENS = 2;
const MOST_PIECES = MAX_PASSAGE_TOKENS - ADDED_TOKENS;
/** Passages end at a length drawn between these, so that short texts are trained on as well as long ones. */
const SHORTEST_AIM = 8;
/** Passages of fewer pieces say too little. */
const FEWEST_PIECES = 3;

/** Draws how many pieces the next passage should have; each number drawn is returned this many times. */
export function randomAims(random: Random, times = 1): () => number {
  let aim = 0;
  let left = 0;
  return () => {
    if (left === 0) {
      aim = SHORTEST_AIM + random.integer(MOST_PIECES - SHORTEST_AIM + 1);
      left = times;
    }
    left -= 1;
    return aim;
  };
}

/**
 * Splits a document into passages of whole neighbouring sentences. A sentence is cut only if it alone is
 * longer than a passage may be.
 * @param sentences of one document, in order.
 * @param nextAim how many pieces the next passage should have.
 */
export function* passagesOf(
  sentences: Iterable<string>,
  tokenizer: Tokenizer,
  nextAim: () => number,
): Generator<string> {
  let passage: string[] = [];
  let used = 0;
  let room = nextAim();
  for (const sentence of sentences) {
    for (const part of parts(sentence, tokenizer)) {
      if (used > 0 && used + part.pieces > room) {
        if (used >= FEWEST_PIECES) yield passage.join(' ');
        passage = [];
        used = 0;
        room = nextAim();
      }
      passage.push(part.text);
      used += part.pieces;
    }
  }
  if (used >= FEWEST_PIECES) yield passage.join(' ');
}

interface Part {
  readonly text: string;
  readonly pieces: number;
}

/** A sentence as a whole, or in as many parts as it takes. */
function parts(sentence: string, tokenizer: Tokenizer): Part[] {
  const { offsets, ids } = tokenizer.encode(sentence);
  const pieces = ids.length - ADDED_TOKENS;
  if (pieces <= MOST_PIECES || offsets === null) return [{ text: sentence, pieces }];
  const found: Part[] = [];
  for (let first = 1; first <= pieces; first += MOST_PIECES) {
    const last = Math.min(pieces, first + MOST_PIECES - 1);
    const text = sentence.slice(offsets[2 * first], offsets[2 * last + 1]);
    found.push({ text, pieces: last - first + 1 });
  }
  return found;
}
