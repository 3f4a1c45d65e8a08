import { isWhitespace } from './character-classes.js';
import { type PieceBuffer, PieceTokenizer } from './encoding.js';
import { readPostProcessor, type SpaceTrimming } from './post-processors.js';
import { AlignedText, anyOf, matchesOf } from './steps/aligned-text.js';
import { makeNormalizer, type Normalizer } from './steps/normalizers.js';
import { makePieceModel, type PieceModel } from './steps/piece-models.js';
import { BYTE_SPACE, makePreTokenizer, type PreTokenizer } from './steps/pre-tokenizers.js';
import type { Tokenizer } from './tokenizer.js';
import type { AddedToken, AnyTokenizerJson, SpecialTokenNames } from './tokenizer-json.js';

interface TokenOrText {
  readonly text: AlignedText;
  readonly id?: number;
}

/** What remains is not yet normalised. */
class AddedTokens {
  readonly #tokens: ReadonlyMap<string, AddedToken>;
  readonly #pattern: RegExp | undefined;

  /** @param normalize for tokens that are looked for in normalised texts. */
  constructor(tokens: readonly AddedToken[], normalize: Normalizer = (text) => text) {
    const written = tokens.map((token) => [normalize(AlignedText.of(token.content)).text(), token] as const);
    this.#tokens = new Map(written.filter(([content]) => content !== ''));
    this.#pattern = anyOf(this.#tokens.keys(), 'gu');
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

/** Added tokens, normaliser, pre-tokenizer, model: the ids and places of the Rust package. */

interface Steps {
  /** Looked for in the text as it is, and in the normalised text. */
  readonly addedTokens: AddedTokens;
  readonly normalizedTokens: AddedTokens;
  readonly normalize: Normalizer;
  readonly preTokenize: PreTokenizer;
  readonly model: PieceModel;
  readonly trimmings: readonly SpaceTrimming[];
}

class Pipeline {
  readonly #steps: Steps;

  constructor(steps: Steps) {
    this.#steps = steps;
  }

  findPieces(text: string, pieces: PieceBuffer): void {
    const { addedTokens, normalizedTokens, normalize, preTokenize } = this.#steps;
    const source = AlignedText.of(text);
    for (const part of addedTokens.split(source)) {
      if (part.id !== undefined) {
        this.#push(part.id, part.text, 0, part.text.length, pieces);
        continue;
      }
      for (const { text: normalized, id } of normalizedTokens.split(normalize(part.text))) {
        if (id !== undefined) this.#push(id, normalized, 0, normalized.length, pieces);
        else if (normalized.length > 0) for (const word of preTokenize(normalized)) this.#split(word, pieces);
      }
    }
    if (source.length !== text.length) inCodeUnits(pieces, text);
  }

  #split(word: AlignedText, pieces: PieceBuffer): void {
    if (word.length === 0) return;
    const { ids, from, to } = this.#steps.model.split(word.characters);
    for (const [index, id] of ids.entries()) this.#push(id, word, from[index] ?? 0, to[index] ?? 0, pieces);
  }

  #push(id: number, { characters, starts, ends }: AlignedText, from: number, to: number, pieces: PieceBuffer): void {
    let start = starts[from] ?? 0;
    let end = ends[to - 1] ?? start;
    for (const trimming of this.#steps.trimmings) {
      if (id === this.#steps.model.unknownId) break;
      const spaces = outerSpaces(characters, from, to);
      const isFirst = pieces.length === 0 || start === 0;
      [start, end] = trimmed(start, end, spaces, trimming, isFirst);
    }
    pieces.push(id, start, end);
  }
}

/** From spans in characters. */
function inCodeUnits({ offsets, length }: PieceBuffer, text: string): void {
  const units: number[] = [];
  let unit = 0;
  for (const character of text) {
    units.push(unit);
    unit += character.length;
  }
  units.push(unit);
  for (let at = 0; at < 2 * length; at++) offsets[at] = units[offsets[at] ?? 0] ?? unit;
}

interface OuterSpaces {
  readonly leading: number;
  readonly trailing: number;
}

function outerSpaces(characters: readonly string[], from: number, to: number): OuterSpaces {
  let leading = 0;
  while (from + leading < to && isOuterSpace(characters[from + leading] ?? '')) leading += 1;
  let trailing = 0;
  while (to - trailing > from && isOuterSpace(characters[to - trailing - 1] ?? '')) trailing += 1;
  return { leading, trailing };
}

const isOuterSpace = (character: string): boolean => character === BYTE_SPACE || isWhitespace(character);

/** Without spaces, except one that was put before the text. */
function trimmed(
  start: number,
  end: number,
  { leading, trailing }: OuterSpaces,
  { addsPrefixSpace }: SpaceTrimming,
  isFirst: boolean,
): [number, number] {
  const cut = isFirst && addsPrefixSpace && leading === 1 ? 0 : leading;
  const from = Math.min(start + cut, end);
  return [from, end >= trailing ? Math.max(end - trailing, from) : end];
}

/** @throws UnknownPartError for a part that we don't compute as the Rust package does. @throws ModelFolderError */
export function createPipelineTokenizer(json: AnyTokenizerJson, names: SpecialTokenNames, file: string): Tokenizer {
  const { added_tokens: addedTokens = [] } = json;
  const isNormalized = ({ normalized }: AddedToken) => normalized === true;
  const normalize = makeNormalizer(json.normalizer, file);
  const model = makePieceModel(json.model, file);
  const { templates, trimmings } = readPostProcessor(json.post_processor, file);
  const pipeline = new Pipeline({
    addedTokens: new AddedTokens(addedTokens.filter((token) => !isNormalized(token))),
    normalizedTokens: new AddedTokens(addedTokens.filter(isNormalized), normalize),
    normalize,
    preTokenize: makePreTokenizer(json.pre_tokenizer, file),
    model,
    trimmings,
  });
  const findPieces = (text: string, pieces: PieceBuffer) => pipeline.findPieces(text, pieces);
  return new PieceTokenizer({ vocabulary: model.vocabulary, addedTokens, names, templates, findPieces });
}
