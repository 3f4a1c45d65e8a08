import { ModelFolderError } from '../../contract/index.js';
import {
  either,
  fields,
  flag,
  listOf,
  nullable,
  number,
  object,
  pairOf,
  recordOf,
  requireShape,
  shaped,
  shortText,
  text,
  whole,
} from '../../system/index.js';
import { PieceBuffer } from '../encoding.js';
import { type PieceIds, PieceTrie } from '../piece-trie.js';
import { PriorityQueue } from '../priority-queue.js';
import { CONTINUING_PREFIX, idShape, MAX_CHARACTERS_PER_WORD, UnknownPartError } from '../tokenizer-json.js';
import { type WordPieceOptions, WordPieceVocabulary } from '../word-piece-tokenizer.js';

/** Several pieces may share a character: its bytes. */
interface WordPieces {
  readonly ids: readonly number[];
  /** Each piece's first character, and the one after its last. */
  readonly from: readonly number[];
  readonly to: readonly number[];
}

export interface PieceModel {
  readonly vocabulary: PieceIds;
  /** Undefined if there is none. */
  readonly unknownId: number | undefined;
  split(characters: readonly string[]): WordPieces;
}

const MAX_KEPT = 1 << 13;
const MAX_KEPT_CHARACTERS = 48;

/** Caches the most recent words. */
class RememberedWords {
  readonly #words = new Map<string, WordPieces>();
  readonly #split: (characters: readonly string[]) => WordPieces;

  constructor(split: (characters: readonly string[]) => WordPieces) {
    this.#split = split;
  }

  split(characters: readonly string[]): WordPieces {
    if (characters.length > MAX_KEPT_CHARACTERS) return this.#split(characters);
    const word = characters.join('');
    const known = this.#words.get(word);
    if (known !== undefined) return known;
    const pieces = this.#split(characters);
    if (this.#words.size >= MAX_KEPT) this.#words.clear();
    this.#words.set(word, pieces);
    return pieces;
  }
}

/** Undefined if a byte has no piece. */
function byteIds(vocabulary: ReadonlyMap<string, number>, text: string): number[] | undefined {
  const ids = Array.from(Buffer.from(text), (byte) => vocabulary.get(bytePiece(byte)));
  const known = ids.filter((id) => id !== undefined);
  return known.length === ids.length ? known : undefined;
}

/** `<0xE3>`. */
function bytePiece(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
}

/** Sennrich et al. 2016. */

interface BytePairOptions {
  readonly vocabulary: ReadonlyMap<string, number>;
  /** In the order in which they were learned. */
  readonly merges: readonly Merge[];
  readonly unknownId: number | undefined;
  /** Unknown characters side by side are one piece. */
  readonly fusesUnknown: boolean;
  /** An unknown character becomes pieces for its bytes. */
  readonly byteFallback: boolean;
  /** A word that is a piece itself is not split. */
  readonly ignoresMerges: boolean;
  /** What pieces inside a word start with, and those at its end end with; '' for nothing. */
  readonly continuingPrefix: string;
  readonly wordSuffix: string;
}

interface Merge {
  readonly left: number;
  readonly right: number;
  readonly merged: number;
}

const FACTOR = 2 ** 24;

/** A list that is linked both ways. */
interface Symbols {
  readonly ids: number[];
  readonly from: number[];
  readonly to: number[];
  /** The number of pieces at the end. */
  readonly next: number[];
  readonly previous: number[];
}

class BytePairModel implements PieceModel {
  readonly vocabulary: ReadonlyMap<string, number>;
  readonly unknownId: number | undefined;
  readonly #options: BytePairOptions;
  readonly #ranks = new Map<number, number>();
  readonly #words = new RememberedWords((characters) => this.#merge(characters));

  constructor(options: BytePairOptions) {
    this.vocabulary = options.vocabulary;
    this.unknownId = options.unknownId;
    this.#options = options;
    for (const [rank, { left, right }] of options.merges.entries()) this.#ranks.set(left * FACTOR + right, rank);
  }

  split(characters: readonly string[]): WordPieces {
    return this.#words.split(characters);
  }

  #merge(characters: readonly string[]): WordPieces {
    if (this.#options.ignoresMerges) {
      const id = this.vocabulary.get(characters.join(''));
      if (id !== undefined) return { ids: [id], from: [0], to: [characters.length] };
    }
    const symbols = this.#symbolsOf(characters);
    const queue = new PriorityQueue<number>(isLess);
    for (let at = 0; at < symbols.ids.length; at++) this.#enqueue(symbols, at, queue);
    for (let entry = queue.pop(); entry !== undefined; entry = queue.pop()) {
      const rank = Math.floor(entry / FACTOR);
      const at = entry % FACTOR;
      if (this.#rankAt(symbols, at) === rank) this.#mergeAt(symbols, at, rank, queue);
    }
    return remaining(symbols);
  }

  #mergeAt(symbols: Symbols, at: number, rank: number, queue: PriorityQueue<number>): void {
    const { ids, to, next, previous } = symbols;
    const right = next[at] ?? 0;
    ids[at] = this.#options.merges[rank]?.merged ?? 0;
    to[at] = to[right] ?? 0;
    ids[right] = GONE;
    const after = next[right] ?? 0;
    next[at] = after;
    if (after < ids.length) previous[after] = at;
    const before = previous[at] ?? -1;
    if (before >= 0) this.#enqueue(symbols, before, queue);
    this.#enqueue(symbols, at, queue);
  }

  #enqueue(symbols: Symbols, at: number, queue: PriorityQueue<number>): void {
    const rank = this.#rankAt(symbols, at);
    if (rank !== undefined) queue.push(rank * FACTOR + at);
  }

  #rankAt({ ids, next }: Symbols, at: number): number | undefined {
    const right = next[at] ?? ids.length;
    const left = ids[at] ?? GONE;
    if (left === GONE || right >= ids.length) return undefined;
    return this.#ranks.get(left * FACTOR + (ids[right] ?? 0));
  }

  #symbolsOf(characters: readonly string[]): Symbols {
    const { continuingPrefix, wordSuffix, fusesUnknown } = this.#options;
    const symbols: Symbols = { ids: [], from: [], to: [], next: [], previous: [] };
    let lastIsUnknown = false;
    for (const [index, character] of characters.entries()) {
      const prefix = index > 0 ? continuingPrefix : '';
      const suffix = index === characters.length - 1 ? wordSuffix : '';
      const ids = this.#idsOf(prefix + character + suffix);
      const isUnknown = ids === undefined && this.unknownId !== undefined;
      if (isUnknown && fusesUnknown && lastIsUnknown) symbols.to[symbols.to.length - 1] = index + 1;
      else for (const id of ids ?? this.#unknown()) addSymbol(symbols, id, index);
      lastIsUnknown = isUnknown;
    }
    return symbols;
  }

  #unknown(): number[] {
    return this.unknownId === undefined ? [] : [this.unknownId];
  }

  #idsOf(piece: string): number[] | undefined {
    const id = this.vocabulary.get(piece);
    if (id !== undefined) return [id];
    return this.#options.byteFallback ? byteIds(this.vocabulary, piece) : undefined;
  }
}

const isLess = (a: number, b: number): boolean => a < b;

/** The id of a piece that was merged into the one before it. */
const GONE = -1;

function addSymbol({ ids, from, to, next, previous }: Symbols, id: number, character: number): void {
  previous.push(ids.length - 1);
  ids.push(id);
  next.push(ids.length);
  from.push(character);
  to.push(character + 1);
}

function remaining(symbols: Symbols): WordPieces {
  const left = [...symbols.ids.keys()].filter((at) => symbols.ids[at] !== GONE);
  const those = (values: readonly number[]) => left.map((at) => values[at] ?? 0);
  return { ids: those(symbols.ids), from: those(symbols.from), to: those(symbols.to) };
}

/** Maximizes the product of the pieces' probabilities (Kudo 2018), as SentencePiece does. */

interface UnigramOptions {
  /** Pieces with logarithms of probabilities; the id is the place in the list. */
  readonly pieces: readonly (readonly [string, number])[];
  readonly unknownId: number;
  /** Unknown text becomes pieces for its bytes. */
  readonly byteFallback: boolean;
}

/** How far an unknown character is below the least probable piece (SentencePiece's kUnkPenalty). */
const UNKNOWN_PENALTY = 10;

class UnigramModel implements PieceModel {
  readonly vocabulary: ReadonlyMap<string, number>;
  readonly unknownId: number;
  readonly #scores: Float64Array;
  readonly #unknownScore: number;
  readonly #trie: PieceTrie;
  readonly #byteFallback: boolean;
  readonly #words = new RememberedWords((characters) => this.#bestSplit(characters));

  constructor({ pieces, unknownId, byteFallback }: UnigramOptions) {
    this.vocabulary = new Map(pieces.map(([piece], id) => [piece, id]));
    this.unknownId = unknownId;
    this.#scores = Float64Array.from(pieces, ([, score]) => score);
    this.#unknownScore = this.#scores.reduce((least, score) => Math.min(least, score)) - UNKNOWN_PENALTY;
    this.#trie = new PieceTrie(this.vocabulary, '');
    this.#byteFallback = byteFallback;
  }

  split(characters: readonly string[]): WordPieces {
    return this.#words.split(characters);
  }

  #bestSplit(characters: readonly string[]): WordPieces {
    const { best, start } = this.#bestPaths(characters);
    const pieces = new Pieces();
    let to = characters.length;
    while (to > 0) {
      let from = start[to] ?? 0;
      // Unknown characters side by side are one piece.
      if (best[to] === this.unknownId) while (from > 0 && best[from] === this.unknownId) from = start[from] ?? 0;
      if (best[to] === this.unknownId) this.#addUnknown(characters, from, to, pieces);
      else pieces.add(best[to] ?? 0, from, to);
      to = from;
    }
    return pieces.reversed();
  }

  /** The last piece of the most probable way to each place. */
  #bestPaths(characters: readonly string[]): { best: Int32Array; start: Int32Array } {
    const { length } = characters;
    const best = new Int32Array(length + 1);
    const start = new Int32Array(length + 1).fill(-1);
    const scores = new Float64Array(length + 1);
    const { units, characterAt } = unitsOf(characters);
    let unit = 0;
    for (let from = 0; from < length; from++) {
      const soFar = scores[from] ?? 0;
      const reach = (to: number, id: number, score: number): void => {
        if (start[to] !== -1 && soFar + score <= (scores[to] ?? 0)) return;
        scores[to] = soFar + score;
        start[to] = from;
        best[to] = id;
      };
      let isKnown = false;
      this.#trie.forEachPiece(units, unit, (id, end) => {
        const to = characterAt[end] ?? 0;
        if (to === from + 1) isKnown = true;
        reach(to, id, this.#scores[id] ?? 0);
      });
      if (!isKnown) reach(from + 1, this.unknownId, this.#unknownScore);
      unit += characters[from]?.length ?? 1;
    }
    return { best, start };
  }

  /** Less probable than each alone. */
  #addUnknown(characters: readonly string[], from: number, to: number, pieces: Pieces): void {
    const piece = characters.slice(from, to).join('');
    const id = this.vocabulary.get(piece);
    const bytes = id === undefined && this.#byteFallback ? byteIds(this.vocabulary, piece) : undefined;
    if (bytes === undefined) pieces.add(id ?? this.unknownId, from, to);
    else for (const byte of bytes.reverse()) pieces.add(byte, from, to);
  }
}

function unitsOf(characters: readonly string[]): { units: Uint16Array; characterAt: Int32Array } {
  const joined = characters.join('');
  const units = new Uint16Array(joined.length);
  for (let at = 0; at < joined.length; at++) units[at] = joined.charCodeAt(at);
  const characterAt = new Int32Array(joined.length + 1);
  let unit = 0;
  for (const [index, character] of characters.entries()) {
    characterAt[unit] = index;
    unit += character.length;
  }
  characterAt[unit] = characters.length;
  return { units, characterAt };
}

/** Collects pieces from the last to the first. */
class Pieces {
  readonly #ids: number[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];

  add(id: number, from: number, to: number): void {
    this.#ids.push(id);
    this.#from.push(from);
    this.#to.push(to);
  }

  reversed(): WordPieces {
    return { ids: this.#ids.reverse(), from: this.#from.reverse(), to: this.#to.reverse() };
  }
}

/** UTF-16 code units; SentencePiece's longest has 16. */
const MAX_PIECE = 1024;
const MAX_AFFIX = 64;
/** Longer words aren't split. */
const MAX_WORD_CHARACTERS = 1000;
const MAX_QUOTED_CHARACTERS = 100;

const affix = nullable(shortText(MAX_AFFIX));
const unigramShape = fields(
  { vocab: listOf(pairOf(shortText(MAX_PIECE), number())), unk_id: nullable(idShape) },
  { byte_fallback: flag },
);
const bytePairShape = fields(
  { vocab: recordOf(idShape), merges: listOf(either(text, pairOf(text, text))) },
  {
    unk_token: nullable(text),
    dropout: nullable(number(0, 1)),
    fuse_unk: flag,
    byte_fallback: flag,
    ignore_merges: flag,
    continuing_subword_prefix: affix,
    end_of_word_suffix: affix,
  },
);
const wordPieceShape = fields(
  { vocab: either(listOf(text), object) },
  {
    unk_token: text,
    continuing_subword_prefix: text,
    max_input_chars_per_word: whole(1, MAX_WORD_CHARACTERS),
  },
);
const objectVocabularyShape = fields({ model: fields({ vocab: recordOf(idShape) }, {}) }, {});
const typeShape = fields({}, { type: text });
/** Pieces with logarithms of probabilities. */
export const listedPieces = listOf(pairOf(text, number()));
const listedShape = fields({ vocab: listedPieces }, {});
const mergedShape = fields({ merges: listOf(either(text, pairOf(text, text))) }, {});

/** @throws UnknownPartError for another type. @throws ModelFolderError for wrong fields. */
export function makePieceModel(part: unknown, file: string): PieceModel {
  const type = requireShape(typeShape, part, file, 'model').type ?? impliedType(part);
  if (type === 'Unigram') return unigram(part, file);
  if (type === 'BPE') return bytePairs(part, file);
  if (type === 'WordPiece') return new WordPieceModel(readWordPieces(part, file));
  throw new UnknownPartError(`the model ${type}`);
}

/** Files written before 2021 don't say. */
function impliedType(part: unknown): string {
  if (shaped(listedShape, part)) return 'Unigram';
  return shaped(mergedShape, part) ? 'BPE' : 'WordPiece';
}

/** Five times those of the largest list on the Hub. */
const MAX_PIECES_CHARACTERS = 8_000_000;

/** @throws ModelFolderError */
export function requirePiecesFit(pieces: readonly (readonly [string, number])[], file: string): void {
  const characters = pieces.reduce((sum, [piece]) => sum + piece.length, 0);
  if (characters <= MAX_PIECES_CHARACTERS) return;
  const reason = `has ${characters} characters in all; at most ${MAX_PIECES_CHARACTERS} are read`;
  throw new ModelFolderError(file, `model.vocab: ${reason}`);
}

function unigram(part: unknown, file: string): UnigramModel {
  const { vocab, unk_id, byte_fallback = false } = requireShape(unigramShape, part, file, 'model');
  requirePiecesFit(vocab, file);
  if (unk_id === null) throw new UnknownPartError('a Unigram model without unk_id');
  if (unk_id >= vocab.length) {
    throw new ModelFolderError(file, `model.unk_id: ${unk_id} is not an entry of model.vocab`);
  }
  return new UnigramModel({ pieces: vocab, unknownId: unk_id, byteFallback: byte_fallback });
}

function bytePairs(part: unknown, file: string): BytePairModel {
  const fields = requireShape(bytePairShape, part, file, 'model');
  const { unk_token, byte_fallback = false, fuse_unk = false, ignore_merges = false } = fields;
  if ((fields.dropout ?? 0) > 0) throw new UnknownPartError('merges left out at random (dropout)');
  const vocabulary = new Map(Object.entries(fields.vocab));
  if (byte_fallback && !hasAllBytes(vocabulary)) throw new UnknownPartError('byte_fallback without all 256 bytes');
  const continuingPrefix = fields.continuing_subword_prefix ?? '';
  return new BytePairModel({
    vocabulary,
    merges: readMerges(fields.merges, vocabulary, continuingPrefix, file),
    unknownId: typeof unk_token === 'string' ? vocabulary.get(unk_token) : undefined,
    fusesUnknown: fuse_unk,
    byteFallback: byte_fallback,
    ignoresMerges: ignore_merges,
    continuingPrefix,
    wordSuffix: fields.end_of_word_suffix ?? '',
  });
}

function hasAllBytes(vocabulary: ReadonlyMap<string, number>): boolean {
  for (let byte = 0; byte < 256; byte++) if (!vocabulary.has(bytePiece(byte))) return false;
  return true;
}

/** @throws ModelFolderError for one of pieces that don't exist */
function readMerges(
  merges: readonly (string | readonly [string, string])[],
  vocabulary: ReadonlyMap<string, number>,
  continuingPrefix: string,
  file: string,
): Merge[] {
  return merges.map((merge, rank) => {
    const [left, right] = typeof merge === 'string' ? splitMerge(merge) : merge;
    const ids = [left, right, left + right.slice(continuingPrefix.length)].map((piece) => vocabulary.get(piece));
    const [leftId, rightId, merged] = ids;
    if (leftId === undefined || rightId === undefined || merged === undefined) {
      throw new ModelFolderError(file, `model.merges.${rank}: it or one of its two pieces is not in model.vocab`);
    }
    return { left: leftId, right: rightId, merged };
  });
}

/** Older files write merges as one string. */
function splitMerge(merge: string): [string, string] {
  const space = merge.indexOf(' ');
  return [merge.slice(0, space), merge.slice(space + 1)];
}

/** @throws ModelFolderError */
export function readWordPieces(part: unknown, file: string): WordPieceOptions {
  const fields = requireShape(wordPieceShape, part, file, 'model');
  const vocabulary = readVocabulary(fields.vocab, file);
  const { unk_token = '[UNK]', continuing_subword_prefix = CONTINUING_PREFIX } = fields;
  const unknownId = vocabulary.get(unk_token);
  if (unknownId === undefined) {
    throw new ModelFolderError(file, `model.unk_token: ${JSON.stringify(unk_token)} is not in model.vocab`);
  }
  return {
    vocabulary,
    unknownId,
    continuingPrefix: continuing_subword_prefix,
    maxCharactersPerWord: fields.max_input_chars_per_word ?? MAX_CHARACTERS_PER_WORD,
  };
}

/** As a list, whose places are the ids, or as an object. @throws ModelFolderError */
function readVocabulary(vocab: Readonly<Record<string, unknown>> | readonly string[], file: string): PieceIds {
  if (isList(vocab)) return new ListedPieces(vocab, Int32Array.from(vocab.keys()), (piece) => vocab.indexOf(piece));
  const pieces = Object.keys(vocab);
  const ids = new Int32Array(pieces.length);
  const problem = { path: [], expected: '' };
  for (const [at, piece] of pieces.entries()) {
    const id = vocab[piece];
    if (!idShape(id, problem)) {
      const reason = `model.vocab.${piece.slice(0, MAX_QUOTED_CHARACTERS)}: expected ${problem.expected}`;
      throw new ModelFolderError(file, reason);
    }
    ids[at] = id;
  }
  return new ListedPieces(pieces, ids, (piece) => (Object.hasOwn(vocab, piece) ? Number(vocab[piece]) : -1));
}

/** The same tokenizer.json, of WordPiece, with its vocabulary as a list, if every id up to the last has its piece. */
export function withListedPieces(tokenizer: unknown): unknown {
  const given = shaped(objectVocabularyShape, tokenizer);
  if (given === undefined) return tokenizer;
  const entries = Object.entries(given.model.vocab).sort(([, a], [, b]) => a - b);
  if (entries.some(([, id], place) => id !== place)) return tokenizer;
  return { ...given, model: { ...given.model, vocab: entries.map(([piece]) => piece) } };
}

const isList = (vocab: object): vocab is readonly string[] => Array.isArray(vocab);

/** A first answer waits for it, and to make a map of it takes twice as long as to check it. */
class ListedPieces implements PieceIds {
  readonly #pieces: readonly string[];
  readonly #ids: Int32Array;
  readonly #find: (piece: string) => number;

  /** @param find gives -1 for what is no piece. */
  constructor(pieces: readonly string[], ids: Int32Array, find: (piece: string) => number) {
    this.#pieces = pieces;
    this.#ids = ids;
    this.#find = find;
  }

  get size(): number {
    return this.#pieces.length;
  }

  get(piece: string): number | undefined {
    const id = this.#find(piece);
    return id < 0 ? undefined : id;
  }

  keys(): Iterable<string> {
    return this.#pieces;
  }

  values(): Iterable<number> {
    return this.#ids;
  }

  *[Symbol.iterator](): Iterator<[string, number]> {
    for (const [at, piece] of this.#pieces.entries()) yield [piece, this.#ids[at] ?? 0];
  }
}

class WordPieceModel implements PieceModel {
  readonly vocabulary: PieceIds;
  readonly unknownId: number;
  readonly #pieces: WordPieceVocabulary;
  readonly #buffer = new PieceBuffer();

  constructor(options: WordPieceOptions) {
    this.vocabulary = options.vocabulary;
    this.unknownId = options.unknownId;
    this.#pieces = new WordPieceVocabulary(options);
  }

  split(characters: readonly string[]): WordPieces {
    const buffer = this.#buffer;
    buffer.clear();
    this.#pieces.split(wordOf(characters), buffer);
    const { length, ids, offsets } = buffer;
    const at = Array.from({ length }, (_, piece) => piece);
    return {
      ids: Array.from(ids.subarray(0, length)),
      from: at.map((piece) => offsets[2 * piece] ?? 0),
      to: at.map((piece) => offsets[2 * piece + 1] ?? 0),
    };
  }
}

function wordOf(characters: readonly string[]) {
  const joined = characters.join('');
  const length = joined.length;
  const units = new Uint16Array(length);
  const starts = new Int32Array(length);
  const ends = new Int32Array(length);
  let at = 0;
  for (const [index, character] of characters.entries()) {
    for (let unit = 0; unit < character.length; unit++) {
      units[at] = joined.charCodeAt(at);
      starts[at] = index;
      ends[at++] = index + 1;
    }
  }
  return { units, starts, ends, length };
}
