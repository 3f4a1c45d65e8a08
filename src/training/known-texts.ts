import type { DatasetWarning } from '../datasets/index.js';
import type { Steps } from '../system/index.js';
import type { Tokenizer } from '../text/index.js';

/** How well an encoder's tokenizer knows the texts of a dataset. */

interface KnownTexts {
  /** Share of the tokens that are not in the vocabulary, 0 to 1. */
  readonly unknown: number;
  /** Tokens for each word of a script that is written with spaces; undefined if there are too few such words. */
  readonly tokensPerWord: number | undefined;
}

const TEXTS_TO_TRY = 1000;
const FEWEST_WORDS = 20;
/** A word, or a part of one, in a script that puts spaces between words. */
const SPACED =
  /(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{M}])+/gu;

function* knownTexts(texts: readonly string[], tokenizer: Tokenizer): Steps<KnownTexts> {
  const unknownId = tokenizer.specialTokens.unknown;
  let tokens = 0;
  let unknown = 0;
  let words = 0;
  let parts = 0;
  for (const text of texts.slice(0, TEXTS_TO_TRY)) {
    yield;
    const { ids, sequenceIds, offsets } = tokenizer.encode(text);
    words += text.match(SPACED)?.length ?? 0;
    for (const [at, id] of ids.entries()) {
      if (sequenceIds[at] !== 0) continue;
      tokens += 1;
      if (id === unknownId) unknown += 1;
      else if (offsets && text.slice(offsets[2 * at], offsets[2 * at + 1]).match(SPACED)) parts += 1;
    }
  }
  const counts = words >= FEWEST_WORDS && parts > 0;
  return { unknown: unknown / Math.max(1, tokens), tokensPerWord: counts ? parts / words : undefined };
}

/** With more unknown tokens than that, texts lose what they say. */
const MOST_UNKNOWN = 0.2;
/**
 * English has 1.0 to 1.5 tokens for each word by an English vocabulary, tweets included, and error messages up to 1.7; French has
 * 1.8, German 2.2, Hindi 2.5, Arabic 3.4 and Russian 5.5.
 */
const MOST_TOKENS_PER_WORD = 1.75;

interface ReadingEncoder {
  /** What it is called: `the backbone english-mini`. */
  readonly encoder: string;
  readonly tokenizer: Tokenizer;
  /** What to do if it doesn't know the texts. */
  readonly advice: string;
}

/** @returns undefined if the encoder knows the texts */
export function* unfamiliarTexts(
  texts: readonly string[],
  { encoder, tokenizer, advice }: ReadingEncoder,
): Steps<DatasetWarning | undefined> {
  const { unknown, tokensPerWord = 1 } = yield* knownTexts(texts, tokenizer);
  if (unknown <= MOST_UNKNOWN && tokensPerWord <= MOST_TOKENS_PER_WORD) return undefined;
  const found =
    unknown > MOST_UNKNOWN
      ? `${Math.round(100 * unknown)} % of the tokens of the texts are not in its vocabulary`
      : `it splits words of the texts into ${tokensPerWord.toFixed(1)} tokens on average, compared with 1.0 to 1.5 for its own language`;
  const message = `${encoder} does not know the language or script of the texts well: ${found}; ${advice}`;
  return { kind: 'unfamiliar_text', count: 1, message, examples: [] };
}
