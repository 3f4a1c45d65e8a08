/** A longer buffer is released after use, so that one huge text doesn't take up memory for good. */
const MAX_KEPT_PIECES = 1 << 16;
const INITIAL_PIECES = 1 << 9;

/** The pieces of one text while they are being found: ids and [start, end) offsets in UTF-16 code units. */
export class PieceBuffer {
  length = 0;
  ids = new Int32Array(INITIAL_PIECES);
  offsets = new Int32Array(2 * INITIAL_PIECES);

  push(id: number, start: number, end: number): void {
    if (this.length === this.ids.length) this.#grow();
    this.offsets[2 * this.length] = start;
    this.offsets[2 * this.length + 1] = end;
    this.ids[this.length++] = id;
  }

  clear(): void {
    this.length = 0;
    if (this.ids.length <= MAX_KEPT_PIECES) return;
    this.ids = new Int32Array(INITIAL_PIECES);
    this.offsets = new Int32Array(2 * INITIAL_PIECES);
  }

  #grow(): void {
    const { ids, offsets } = this;
    this.ids = new Int32Array(2 * ids.length);
    this.ids.set(ids);
    this.offsets = new Int32Array(2 * offsets.length);
    this.offsets.set(offsets);
  }
}
