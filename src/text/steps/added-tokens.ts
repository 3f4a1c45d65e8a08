import { isWhitespace } from '../character-classes.js';
import { AlignedText } from './aligned-text.js';
import type { Normalizer } from './normalizers.js';
import { matchesOf } from './patterns.js';

/** Tokens that are recognised as a whole wherever they are written out in a text. */

interface AddedTokenFields {
  readonly id: number;
  readonly content: string;
  /** Only between words. */
  readonly single_word?: boolean;
  /** Whether the white space to its left, or to its right, belongs to it. */
  readonly lstrip?: boolean;
  readonly rstrip?: boolean;
  /** Whether it is looked for in the normalised text, by its own normalised form. */
  readonly normalized?: boolean;
}

/** A part of a text, and the id of the added token that it is, if it is one. */
interface TokenOrText {
  readonly text: AlignedText;
  readonly id?: number;
}

/** Splits a text at added tokens; what remains is not yet normalised. */
export class AddedTokens {
  readonly #tokens: ReadonlyMap<string, AddedTokenFields>;
  /** The longest token at the leftmost place; undefined if there are none. */
  readonly #pattern: RegExp | undefined;

  /** @param normalize given for tokens that are looked for in normalised texts. */
  constructor(tokens: readonly AddedTokenFields[], normalize: Normalizer = (text) => text) {
    const written = tokens.map((token) => [normalize(AlignedText.of(token.content)).text(), token] as const);
    this.#tokens = new Map(written.filter(([content]) => content !== ''));
    const longestFirst = [...this.#tokens.keys()].sort((a, b) => b.length - a.length);
    const alternatives = longestFirst.map((content) => content.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
    this.#pattern = alternatives.length === 0 ? undefined : new RegExp(alternatives.join('|'), 'gu');
  }

  split(text: AlignedText): TokenOrText[] {
    if (this.#pattern === undefined) return [{ text }];
    const parts: TokenOrText[] = [];
    let done = 0;
    for (const match of matchesOf(text, this.#pattern)) {
      const token = this.#tokens.get(text.characters.slice(match.from, match.to).join(''));
      if (token === undefined || (token.single_word === true && isWithinWord(text, match))) continue;
      let { from, to } = match;
      if (token.lstrip === true) while (from > done && isSpace(text.characters[from - 1])) from -= 1;
      if (token.rstrip === true) while (isSpace(text.characters[to])) to += 1;
      if (done < from) parts.push({ text: text.slice(done, from) });
      parts.push({ text: text.slice(from, to), id: token.id });
      done = to;
    }
    if (done === 0) return [{ text }];
    if (done < text.length) parts.push({ text: text.slice(done, text.length) });
    return parts;
  }
}

function isSpace(character = ''): boolean {
  return character !== '' && isWhitespace(character);
}

const wordCharacter = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u;

function isWithinWord({ characters }: AlignedText, { from, to }: { from: number; to: number }): boolean {
  return wordCharacter.test(characters[from - 1] ?? '') || wordCharacter.test(characters[to] ?? '');
}
