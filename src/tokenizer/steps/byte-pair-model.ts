/** Byte pair encoding (Sennrich et al. 2016): characters side by side are merged, the earliest learned pair first. */
import { PriorityQueue } from '../priority-queue.js';
import { byteIds, type PieceModel, RememberedWords, type WordPieces } from './piece-model.js';

export interface BytePairOptions {
  readonly vocabulary: ReadonlyMap<string, number>;
  /** In the order in which they were learned. */
  readonly merges: readonly Merge[];
  readonly unknownId: number | undefined;
  /** Whether unknown characters side by side are one piece. */
  readonly fusesUnknown: boolean;
  /** Whether an unknown character becomes pieces for its bytes. */
  readonly byteFallback: boolean;
  /** Whether a word that is a piece itself is not split. */
  readonly ignoresMerges: boolean;
  /** What pieces inside a word start with, and what those at its end end with; '' for nothing. */
  readonly continuingPrefix: string;
  readonly wordSuffix: string;
}

export interface Merge {
  readonly left: number;
  readonly right: number;
  readonly merged: number;
}

/** More than any id, rank or length. */
const FACTOR = 2 ** 24;

/** Pieces while they are merged: side by side in a list that is linked both ways. */
interface Symbols {
  readonly ids: number[];
  readonly from: number[];
  readonly to: number[];
  /** Index of the piece after each; the number of pieces at the end. */
  readonly next: number[];
  readonly previous: number[];
}

export class BytePairModel implements PieceModel {
  readonly vocabulary: ReadonlyMap<string, number>;
  readonly unknownId: number | undefined;
  readonly #options: BytePairOptions;
  /** Rank by pair. */
  readonly #ranks = new Map<number, number>();
  readonly #words = new RememberedWords((characters) => this.#merge(characters));

  constructor(options: BytePairOptions) {
    this.vocabulary = options.vocabulary;
    this.unknownId = options.unknownId;
    this.#options = options;
    for (const [rank, { left, right }] of options.merges.entries())
      this.#ranks.set(left * FACTOR + right, rank);
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

  /** Adds the pair that begins at a piece to what may be merged. */
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

  /** Of a character; undefined if it is unknown. */
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
