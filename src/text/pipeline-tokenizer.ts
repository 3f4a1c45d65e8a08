import {
  fields,
  flag,
  type JsonShape,
  latePattern,
  listOf,
  nullable,
  object,
  oneOf,
  requireShape,
  type Shaped,
  shortText,
  text,
} from '../system/index.js';
import { isWhitespace, punctuation } from './character-classes.js';
import { type PieceBuffer, PieceTokenizer } from './encoding.js';
import { readPostProcessor, type SpaceTrimming } from './post-processors.js';
import {
  AlignedText,
  anyOf,
  charactersThat,
  compiledPattern,
  mapped,
  matchesOf,
  patternShape,
  prepended,
  Rewriting,
  type Span,
} from './steps/aligned-text.js';
import { makeNormalizer, type Normalizer } from './steps/normalizers.js';
import { makePieceModel, type PieceModel } from './steps/piece-models.js';
import type { Tokenizer } from './tokenizer.js';
import { type AddedToken, type AnyTokenizerJson, type SpecialTokenNames, UnknownPartError } from './tokenizer-json.js';

interface TokenOrText {
  readonly text: AlignedText;
  readonly id?: number;
}

/** Splits a text at added tokens; what remains is not yet normalized. */
class AddedTokens {
  readonly #tokens: ReadonlyMap<string, AddedToken>;
  readonly #pattern: RegExp | undefined;

  /** @param normalize for tokens that are looked for in normalized texts. */
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

const WORD = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}';
const wordCharacter = latePattern(`^[${WORD}]$`, 'u');

function isWithinWord({ characters }: AlignedText, { from, to }: { from: number; to: number }): boolean {
  return wordCharacter().test(characters[from - 1] ?? '') || wordCharacter().test(characters[to] ?? '');
}

/** Added tokens, normalizer, pre-tokenizer, model: the ids and places of the Rust package. */

interface Steps {
  /** Looked for in the text as it is, and in the normalized text. */
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

/** Parts without characters are left out. */
type PreTokenizer = (text: AlignedText) => readonly AlignedText[];

const behaviors = oneOf('Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous');
const byteLevelShape = fields({}, { add_prefix_space: flag, use_regex: flag });
const metaspaceShape = fields(
  {},
  {
    replacement: nullable(shortText(1)),
    prepend_scheme: oneOf('always', 'first', 'never'),
    /** In older files; false means `never`. */
    add_prefix_space: nullable(flag),
    split: nullable(flag),
  },
);
const splitShape = fields({ pattern: patternShape, behavior: behaviors }, { invert: flag });

type Maker = (part: unknown, file: string) => PreTokenizer;

function of<Fields>(shape: JsonShape<Fields>, make: (fields: Fields, file: string) => PreTokenizer): Maker {
  return (part, file) => make(requireShape(shape, part, file, 'pre_tokenizer'), file);
}

const splittingAt =
  (accepts: (character: string) => boolean, behavior: SplitBehavior): PreTokenizer =>
  (source) =>
    splitAt(source, charactersThat(source, accepts), behavior);

const makers: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ['BertPreTokenizer', () => bertWords],
  ['WhitespaceSplit', () => splittingAt(isWhitespace, 'Removed')],
  ['Whitespace', () => (source) => splitAt(source, matchesOf(source, wholeWords()), 'Removed', true)],
  ['ByteLevel', of(byteLevelShape, byteLevel)],
  ['Metaspace', of(metaspaceShape, metaspace)],
  [
    'Punctuation',
    of(fields({}, { behavior: behaviors }), ({ behavior = 'Isolated' }) => splittingAt(isPunctuation, behavior)),
  ],
  [
    'Digits',
    of(fields({}, { individual_digits: flag }), ({ individual_digits }) =>
      splittingAt(isNumeric, individual_digits === true ? 'Isolated' : 'Contiguous'),
    ),
  ],
  [
    'Split',
    of(splitShape, ({ pattern, behavior, invert = false }) => {
      const compiled = compiledPattern(pattern);
      return (source) => splitAt(source, matchesOf(source, compiled), behavior, invert);
    }),
  ],
  [
    'Sequence',
    of(fields({ pretokenizers: listOf(object) }, {}), ({ pretokenizers }, file) => {
      const steps = pretokenizers.map((step) => makePreTokenizer(step, file));
      return (source) => steps.reduce<readonly AlignedText[]>((words, step) => words.flatMap(step), [source]);
    }),
  ],
]);

/** @throws UnknownPartError for an unknown type. @throws ModelFolderError for wrong fields. */
function makePreTokenizer(part: unknown, file: string): PreTokenizer {
  if (part === null || part === undefined) return (source) => [source];
  const { type } = requireShape(fields({ type: text }, {}), part, file, 'pre_tokenizer');
  const make = makers.get(type);
  if (make === undefined) throw new UnknownPartError(`the pre-tokenizer ${type}`);
  return make(part, file);
}

/** Letters, marks, digits and connectors, or runs of what is neither those nor white space. */
const wholeWords = latePattern(`[${WORD}]+|[^${WORD}\\p{White_Space}]+`, 'gu');

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;
const isPunctuation = (character: string): boolean => punctuation.has(codeOf(character));
const numeric = latePattern('^\\p{N}$', 'u');
const isNumeric = (character: string): boolean => numeric().test(character);

function bertWords(source: AlignedText): AlignedText[] {
  return splitAt(source, charactersThat(source, isWhitespace), 'Removed').flatMap((word) =>
    splitAt(word, charactersThat(word, isPunctuation), 'Isolated'),
  );
}

function byteLevel({ add_prefix_space = true, use_regex = true }: Shaped<typeof byteLevelShape>): PreTokenizer {
  return (source) => {
    const whole = add_prefix_space && source.characters[0] !== ' ' ? prepended(source, ' ') : source;
    const words = use_regex ? splitAt(whole, matchesOf(whole, gpt2Words()), 'Isolated') : [whole];
    return words.map(asBytes);
  };
}

function metaspace({
  replacement,
  prepend_scheme = 'always',
  add_prefix_space,
  split,
}: Shaped<typeof metaspaceShape>): PreTokenizer {
  const mark = replacement ?? '▁';
  const scheme = add_prefix_space === false ? 'never' : prepend_scheme;
  return (source) => {
    const marked = source.characters.includes(' ')
      ? mapped(source, (character) => (character === ' ' ? mark : character))
      : source;
    const needsMark = scheme === 'always' || (scheme === 'first' && source.origin === 0);
    const whole = needsMark && marked.characters[0] !== mark ? prepended(marked, mark) : marked;
    if (split === false) return [whole];
    return splitAt(
      whole,
      charactersThat(whole, (character) => character === mark),
      'MergedWithNext',
    );
  };
}

type SplitBehavior = 'Removed' | 'Isolated' | 'MergedWithPrevious' | 'MergedWithNext' | 'Contiguous';

interface Part extends Span {
  readonly matches: boolean;
}

/** Places are in order and don't overlap. @param invert to split at what lies between them. */
function splitAt(text: AlignedText, places: readonly Span[], behavior: SplitBehavior, invert = false): AlignedText[] {
  const parts = behaved(allParts(text.length, places, invert), behavior);
  if (parts.length === 1 && parts[0]?.from === 0 && parts[0].to === text.length) return [text];
  return parts.map(({ from, to }) => text.slice(from, to));
}

function allParts(length: number, places: readonly Span[], invert: boolean): Part[] {
  const parts: Part[] = [];
  let done = 0;
  for (const { from, to } of places) {
    if (done < from) parts.push({ from: done, to: from, matches: invert });
    parts.push({ from, to, matches: !invert });
    done = to;
  }
  if (done < length) parts.push({ from: done, to: length, matches: invert });
  return parts;
}

function behaved(parts: readonly Part[], behavior: SplitBehavior): readonly Span[] {
  switch (behavior) {
    case 'Isolated':
      return parts;
    case 'Removed':
      return parts.filter(({ matches }) => !matches);
    case 'Contiguous':
      return joined(parts, (part, last) => part.matches === last.matches);
    case 'MergedWithPrevious':
      return joined(parts, (part, last) => part.matches && !last.matches);
    case 'MergedWithNext':
      // From the last part to the first, as a match belongs to what comes after it.
      return joined(parts.toReversed(), (part, last) => part.matches && !last.matches).toReversed();
  }
}

function joined(parts: readonly Part[], joins: (part: Part, last: Part) => boolean): Span[] {
  const groups: Span[] = [];
  let last: Part | undefined;
  for (const part of parts) {
    const group = groups.at(-1);
    if (group !== undefined && last !== undefined && joins(part, last)) {
      groups[groups.length - 1] = { from: Math.min(group.from, part.from), to: Math.max(group.to, part.to) };
    } else {
      groups.push({ from: part.from, to: part.to });
    }
    last = part;
  }
  return groups;
}

/** Printable Latin-1 stays as it is, the other 68 bytes are U+0100 and up, in order. */
const characterOfByte: readonly string[] = (() => {
  const characters: string[] = [];
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    characters.push(String.fromCharCode(isPrintable(byte) ? byte : next));
    if (!isPrintable(byte)) next += 1;
  }
  return characters;
})();

function isPrintable(byte: number): boolean {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
}

/** A space as a character of bytes. */
const BYTE_SPACE = 'Ġ';

/** GPT-2's pattern, with Unicode's white space instead of JavaScript's `\s`. */
const gpt2Words = latePattern(
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\p{White_Space}\\p{L}\\p{N}]+|\\p{White_Space}+(?!\\P{White_Space})|\\p{White_Space}+",
  'gu',
);

const encoder = new TextEncoder();

function asBytes(text: AlignedText): AlignedText {
  const rewriting = new Rewriting(text);
  for (const character of text.characters) {
    if (character < '\u0080') {
      rewriting.replace(characterOfByte[character.charCodeAt(0)] ?? character);
      continue;
    }
    for (const [index, byte] of encoder.encode(character).entries()) {
      if (index === 0) rewriting.replace(characterOfByte[byte] ?? '');
      else rewriting.insert(characterOfByte[byte] ?? '');
    }
  }
  return rewriting.result();
}
