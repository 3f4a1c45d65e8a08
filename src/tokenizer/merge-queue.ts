/** A possible merge of two neighbouring symbols, with the words in which to do it. */
export interface Merge {
  readonly left: number;
  readonly right: number;
  /** How often the pair occurred when it was last counted. */
  readonly count: number;
  readonly words: readonly number[];
}

/** A binary heap of merges: the most frequent one first, among equals the one with the lowest symbol ids. */
export class MergeQueue {
  readonly #heap: Merge[] = [];

  push(merge: Merge): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !comesBefore(merge, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = merge;
  }

  pop(): Merge | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const [leftChild, rightChild] = [heap[child], heap[child + 1]];
      if (leftChild === undefined) break;
      let below = leftChild;
      if (rightChild !== undefined && comesBefore(rightChild, leftChild)) {
        below = rightChild;
        child++;
      }
      if (!comesBefore(below, last)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}

function comesBefore(a: Merge, b: Merge): boolean {
  if (a.count !== b.count) return a.count > b.count;
  return a.left !== b.left ? a.left < b.left : a.right < b.right;
}
