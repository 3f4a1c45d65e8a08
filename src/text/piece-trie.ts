/** Pieces and their ids, such as a map of them. */
export interface PieceIds extends Iterable<[piece: string, id: number]> {
  readonly size: number;
  get(piece: string): number | undefined;
  keys(): Iterable<string>;
  values(): Iterable<number>;
}

const ROOT = 0;
/** No piece, and no node but the root, which is no node's child. */
const NONE = 0;

/** Fields of each edge in the table. */
const FIELDS = 4;
const PARENT = 0;
const UNIT = 1;
/** Below 0: −1 − index in `#waiting` of pieces that aren't in the table yet. */
const CHILD = 2;
/** The id of the piece that ends at the child, plus one. */
const PIECE = 3;

/** Odd, without a pattern in their bits. */
const NODE_FACTOR = 0x9e3779b1;
const UNIT_FACTOR = 0x85ebca6b;

interface Branch {
  /** Places in the vocabulary. */
  readonly pieces: readonly number[];
  readonly depth: number;
}

/** Edges are UTF-16 code units in a hash table (open addressing), added when a word first comes to their start. */
export class PieceTrie {
  /** Id of the piece that {@link longest} found. */
  id = -1;

  readonly #pieces: readonly string[];
  readonly #ids: readonly number[];
  readonly #continuingPrefix: string;
  /** Undefined until a word is continued. */
  #continuingRoot: number | undefined;
  readonly #waiting: (Branch | undefined)[] = [];
  #table: Int32Array;
  #shift: number;
  #edges = 0;
  #nodes = 1;

  /** @param continuingPrefix `##`. */
  constructor(vocabulary: PieceIds, continuingPrefix: string) {
    const bits = Math.ceil(Math.log2(2 * vocabulary.size + 2));
    this.#table = new Int32Array(FIELDS << bits);
    this.#shift = 32 - bits;
    this.#pieces = Array.from(vocabulary.keys());
    this.#ids = Array.from(vocabulary.values());
    this.#continuingPrefix = continuingPrefix;
    this.#addBranches(ROOT, this.#pieces.keys(), 0);
  }

  /** Sets `id`; if `start` isn't 0, pieces continue a word. @returns the piece's end; `start` if there is none. */
  longest(units: Uint16Array, start: number, length: number): number {
    let node = start === 0 ? ROOT : this.#continuing();
    let end = start;
    for (let position = start; position < length; position++) {
      let edge = this.#find(node, units[position] ?? 0);
      node = this.#table[edge + CHILD] ?? NONE;
      if (node === NONE) break;
      // Not by #edge: most of the time of BERT's tokenizer goes into this loop.
      if (node < 0) {
        edge = this.#grow(edge);
        node = this.#table[edge + CHILD] ?? NONE;
      }
      const piece = this.#table[edge + PIECE] ?? NONE;
      if (piece === NONE) continue;
      this.id = piece - 1;
      end = position + 1;
    }
    return end;
  }

  /** Shortest first. */
  forEachPiece(units: Uint16Array, start: number, found: (id: number, end: number) => void): void {
    let node = ROOT;
    for (let position = start; position < units.length; position++) {
      const edge = this.#edge(node, units[position] ?? 0);
      node = this.#table[edge + CHILD] ?? NONE;
      if (node === NONE) return;
      const piece = this.#table[edge + PIECE] ?? NONE;
      if (piece !== NONE) found(piece - 1, position + 1);
    }
  }

  /** As {@link #find}, but makes the node that the edge leads to, for which the table may be replaced. */
  #edge(node: number, unit: number): number {
    const edge = this.#find(node, unit);
    return (this.#table[edge + CHILD] ?? NONE) < 0 ? this.#grow(edge) : edge;
  }

  #find(node: number, unit: number): number {
    const table = this.#table;
    const hash = Math.imul(node, NODE_FACTOR) ^ Math.imul(unit, UNIT_FACTOR);
    let edge = (hash >>> this.#shift) * FIELDS;
    while (table[edge + CHILD] !== NONE && (table[edge + PARENT] !== node || table[edge + UNIT] !== unit)) {
      edge += FIELDS;
      if (edge === table.length) edge = 0;
    }
    return edge;
  }

  /** The pieces behind each edge wait there. */
  #addBranches(node: number, pieces: Iterable<number>, depth: number): void {
    for (const [unit, branch] of this.#byUnit(pieces, depth)) {
      this.#waiting.push({ pieces: branch, depth: depth + 1 });
      this.#add(node, unit, -this.#waiting.length);
    }
  }

  #add(node: number, unit: number, child: number): void {
    // At most half full, so that a look-up seldom meets more than one other edge.
    this.#edges += 1;
    if (2 * FIELDS * this.#edges > this.#table.length) this.#enlarge();
    const edge = this.#find(node, unit);
    this.#table[edge + PARENT] = node;
    this.#table[edge + UNIT] = unit;
    this.#table[edge + CHILD] = child;
  }

  #enlarge(): void {
    const smaller = this.#table;
    this.#table = new Int32Array(2 * smaller.length);
    this.#shift -= 1;
    for (let from = 0; from < smaller.length; from += FIELDS) {
      if (smaller[from + CHILD] === NONE) continue;
      const edge = this.#find(smaller[from + PARENT] ?? 0, smaller[from + UNIT] ?? 0);
      for (let field = 0; field < FIELDS; field++) this.#table[edge + field] = smaller[from + field] ?? 0;
    }
  }

  /** @returns where the edge itself is now. */
  #grow(edge: number): number {
    const index = -1 - (this.#table[edge + CHILD] ?? 0);
    const { pieces, depth } = this.#waiting[index] ?? { pieces: [], depth: 0 };
    this.#waiting[index] = undefined;
    const parent = this.#table[edge + PARENT] ?? ROOT;
    const unit = this.#table[edge + UNIT] ?? 0;
    const node = this.#nodes++;
    const complete = pieces.find((piece) => this.#pieces[piece]?.length === depth);
    this.#table[edge + CHILD] = node;
    this.#table[edge + PIECE] = complete === undefined ? NONE : 1 + (this.#ids[complete] ?? 0);
    this.#addBranches(node, pieces, depth);
    return this.#find(parent, unit);
  }

  #continuing(): number {
    this.#continuingRoot ??= this.#nodeOf(this.#continuingPrefix);
    return this.#continuingRoot;
  }

  #nodeOf(text: string): number {
    let node = ROOT;
    for (let at = 0; at < text.length; at++) {
      const edge = this.#edge(node, text.charCodeAt(at));
      node = this.#table[edge + CHILD] ?? NONE;
      // A new node has no edges, as is right for a prefix that no piece has.
      if (node === NONE) return this.#nodes++;
    }
    return node;
  }

  #byUnit(pieces: Iterable<number>, depth: number): ReadonlyMap<number, number[]> {
    const branches = new Map<number, number[]>();
    for (const piece of pieces) {
      const text = this.#pieces[piece] ?? '';
      if (text.length <= depth) continue;
      const unit = text.charCodeAt(depth);
      const branch = branches.get(unit);
      if (branch === undefined) branches.set(unit, [piece]);
      else branch.push(piece);
    }
    return branches;
  }
}
