const ROOT = 0;
/** No node, or no piece. */
const NOWHERE = -1;

/** The table of edges has four fields for each edge. */
const FIELDS = 4;
const PARENT = 0;
const UNIT = 1;
const CHILD = 2;
/** The piece that ends at the child; NOWHERE for none. */
const PIECE = 3;

/** The hash's multipliers for nodes and for code units: odd, without a pattern in their bits. */
const NODE_FACTOR = 0x9e3779b1;
const UNIT_FACTOR = 0x85ebca6b;

/**
 * The pieces of a vocabulary as a trie of UTF-16 code units, all edges in one hash table (open addressing):
 * the longest piece at a place is found with one look-up per code unit, without making a string.
 */
export class PieceTrie {
  /** Id of the piece that {@link longest} found. */
  id = NOWHERE;

  readonly #edges: Int32Array;
  /** How far a hash is shifted to give the number of an edge. */
  readonly #shift: number;
  readonly #continuingRoot: number;
  #nodes = 1;

  /** @param continuingPrefix what pieces inside a word start with in the vocabulary: `##`. */
  constructor(vocabulary: ReadonlyMap<string, number>, continuingPrefix: string) {
    // At most half full, so that a look-up seldom meets more than one other edge.
    const bits = Math.ceil(Math.log2(2 * countEdges([...vocabulary.keys()]) + 2));
    this.#edges = new Int32Array(FIELDS << bits).fill(NOWHERE);
    this.#shift = 32 - bits;
    for (const [piece, id] of vocabulary) this.#insert(piece, id);
    this.#continuingRoot = this.#nodeOf(continuingPrefix);
  }

  /**
   * Finds the longest piece at `start` of a word; if `start` isn't 0, among the pieces that continue a word.
   * @returns where it ends, with its id in `id`; `start` if there is none.
   */
  longest(units: Uint16Array, start: number, length: number): number {
    const edges = this.#edges;
    let node = start === 0 ? ROOT : this.#continuingRoot;
    let end = start;
    for (let position = start; position < length; position++) {
      const edge = this.#find(node, units[position] ?? 0);
      node = edges[edge + CHILD] ?? NOWHERE;
      if (node === NOWHERE) break;
      const id = edges[edge + PIECE] ?? NOWHERE;
      if (id === NOWHERE) continue;
      this.id = id;
      end = position + 1;
    }
    return end;
  }

  /** Index of the edge in the table, or of the empty slot where it belongs. */
  #find(node: number, unit: number): number {
    const edges = this.#edges;
    const hash = Math.imul(node, NODE_FACTOR) ^ Math.imul(unit, UNIT_FACTOR);
    let edge = (hash >>> this.#shift) * FIELDS;
    while (
      edges[edge + CHILD] !== NOWHERE &&
      (edges[edge + PARENT] !== node || edges[edge + UNIT] !== unit)
    ) {
      edge += FIELDS;
      if (edge === edges.length) edge = 0;
    }
    return edge;
  }

  #insert(piece: string, id: number): void {
    let node = ROOT;
    let edge = NOWHERE;
    for (let i = 0; i < piece.length; i++) {
      const unit = piece.charCodeAt(i);
      edge = this.#find(node, unit);
      if (this.#edges[edge + CHILD] === NOWHERE) this.#edges.set([node, unit, this.#nodes++], edge);
      node = this.#edges[edge + CHILD] ?? NOWHERE;
    }
    if (edge !== NOWHERE) this.#edges[edge + PIECE] = id;
  }

  #nodeOf(text: string): number {
    let node = ROOT;
    for (let i = 0; i < text.length && node !== NOWHERE; i++) {
      node = this.#edges[this.#find(node, text.charCodeAt(i)) + CHILD] ?? NOWHERE;
    }
    return node;
  }
}

/** In sorted order, each piece adds edges from where it differs from the piece before it. */
function countEdges(pieces: string[]): number {
  let edges = 0;
  let previous = '';
  for (const piece of pieces.sort()) {
    let shared = 0;
    while (shared < previous.length && previous[shared] === piece[shared]) shared++;
    edges += piece.length - shared;
    previous = piece;
  }
  return edges;
}
