import { isWhitespace } from './character-classes.js';
import { assemble, PieceBuffer } from './encoding.js';
import { type PostProcessing, readPostProcessor, type SpaceTrimming } from './post-processors.js';
import { AddedTokens } from './steps/added-tokens.js';
import { AlignedText } from './steps/aligned-text.js';
import { makeNormalizer, type Normalizer } from './steps/normalizers.js';
import type { PieceModel } from './steps/piece-model.js';
import { makePieceModel } from './steps/piece-models.js';
import { BYTE_SPACE, makePreTokenizer, type PreTokenizer } from './steps/pre-tokenizers.js';
import type { EncodeOptions, Encoding, SpecialTokenIds, Tokenizer } from './tokenizer.js';
import { type AnyTokenizerJson, findSpecialTokens, type SpecialTokenNames } from './tokenizer-json.js';

/** A tokenizer of steps: added tokens, normaliser, pre-tokenizer, model. The ids and places of the Rust package. */

interface Steps {
  /** Looked for in the text as it is, and in the normalised text. */
  readonly addedTokens: AddedTokens;
  readonly normalizedTokens: AddedTokens;
  readonly normalize: Normalizer;
  readonly preTokenize: PreTokenizer;
  readonly model: PieceModel;
  readonly postProcessing: PostProcessing;
}

class PipelineTokenizer implements Tokenizer {
  readonly vocabularySize: number;
  readonly #steps: Steps;
  /** Contents of the added tokens by id. */
  readonly #added: ReadonlyMap<number, string>;
  /** Pieces by id; made when first asked for. */
  #tokens: ReadonlyMap<number, string> | undefined;
  readonly #first = new PieceBuffer();
  readonly #second = new PieceBuffer();

  constructor(
    steps: Steps,
    readonly specialTokens: SpecialTokenIds,
    added: ReadonlyMap<number, string>,
  ) {
    this.#steps = steps;
    this.#added = added;
    let highest = -1;
    for (const id of steps.model.vocabulary.values()) highest = Math.max(highest, id);
    for (const id of added.keys()) highest = Math.max(highest, id);
    this.vocabularySize = highest + 1;
  }

  encode(text: string, { maxLength, pair }: EncodeOptions = {}): Encoding {
    const { templates } = this.#steps.postProcessing;
    this.#findPieces(text, this.#first);
    if (pair === undefined) return assemble(templates.single, [this.#first], maxLength);
    this.#findPieces(pair, this.#second);
    return assemble(templates.pair, [this.#first, this.#second], maxLength);
  }

  token(id: number): string | undefined {
    const { vocabulary } = this.#steps.model;
    this.#tokens ??= new Map(Array.from(vocabulary, ([piece, pieceId]) => [pieceId, piece]));
    return this.#added.get(id) ?? this.#tokens.get(id);
  }

  #findPieces(text: string, pieces: PieceBuffer): void {
    const { addedTokens, normalizedTokens, normalize, preTokenize } = this.#steps;
    pieces.clear();
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

  /** Adds the piece of the characters from `from` up to `to`. */
  #push(id: number, { characters, starts, ends }: AlignedText, from: number, to: number, pieces: PieceBuffer): void {
    let start = starts[from] ?? 0;
    let end = ends[to - 1] ?? start;
    for (const trimming of this.#steps.postProcessing.trimmings) {
      if (id === this.#steps.model.unknownId) break;
      const spaces = outerSpaces(characters, from, to);
      const isFirst = pieces.length === 0 || start === 0;
      [start, end] = trimmed(start, end, spaces, trimming, isFirst);
    }
    pieces.push(id, start, end);
  }
}

/** Turns spans in characters into spans in UTF-16 code units. */
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
  while (from + leading < to && isSpace(characters[from + leading] ?? '')) leading += 1;
  let trailing = 0;
  while (to - trailing > from && isSpace(characters[to - trailing - 1] ?? '')) trailing += 1;
  return { leading, trailing };
}

const isSpace = (character: string): boolean => character === BYTE_SPACE || isWhitespace(character);

/** The span of a piece without its spaces, except one that was put before the text. */
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

/**
 * @param file named in errors.
 * @throws UnknownPartError for a part that we don't compute as the Rust package does.
 * @throws ModelFolderError for wrong fields.
 */
export function createPipelineTokenizer(
  json: AnyTokenizerJson,
  names: SpecialTokenNames,
  file: string,
): PipelineTokenizer {
  const { added_tokens = [] } = json;
  const normalize = makeNormalizer(json.normalizer, file);
  const model = makePieceModel(json.model, file);
  const steps: Steps = {
    addedTokens: new AddedTokens(added_tokens.filter(({ normalized }) => normalized !== true)),
    normalizedTokens: new AddedTokens(
      added_tokens.filter(({ normalized }) => normalized === true),
      normalize,
    ),
    normalize,
    preTokenize: makePreTokenizer(json.pre_tokenizer, file),
    model,
    postProcessing: readPostProcessor(json.post_processor, file),
  };
  const ids = new Map(added_tokens.map(({ content, id }) => [content, id]));
  const specialTokens = findSpecialTokens((token) => ids.get(token) ?? model.vocabulary.get(token), names);
  const contents = new Map(added_tokens.map(({ content, id }) => [id, content]));
  return new PipelineTokenizer(steps, specialTokens, contents);
}
