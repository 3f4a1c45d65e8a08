/** A binary heap: what comes before all others is given first. */
export class PriorityQueue<Item> {
  readonly #heap: Item[] = [];
  readonly #comesBefore: (a: Item, b: Item) => boolean;

  constructor(comesBefore: (a: Item, b: Item) => boolean) {
    this.#comesBefore = comesBefore;
  }

  push(item: Item): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !this.#comesBefore(item, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = item;
  }

  pop(): Item | undefined {
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
      if (rightChild !== undefined && this.#comesBefore(rightChild, leftChild)) {
        below = rightChild;
        child++;
      }
      if (!this.#comesBefore(below, last)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}
