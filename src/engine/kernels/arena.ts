/// <reference path="./web-assembly.d.ts" />

/** Every allocation starts at a multiple of this many bytes: a cache line, and what ONNX Runtime aligns to. */
const ALIGNMENT = 64;

/** One page of WebAssembly memory, bytes. */
const PAGE = 65_536;

/**
 * Maximum size of a 32-bit memory, less its last page, so that the address after the last byte still fits in 32 bits.
 */
const MAX_BYTES = 65_535 * PAGE;

const ELEMENT = 4;

/**
 * One WebAssembly memory whose size is fixed at creation, handed out as views that the kernels and ONNX Runtime read
 * and write in place. The memory isn't shared, since ONNX Runtime refuses views of shared memory, and it never grows,
 * since growing would detach every view. Views are zero at first and live as long as the arena.
 */
export class Arena {
  readonly memory: WebAssembly.Memory;
  #used = 0;

  /** @throws RangeError if the machine can't provide that much memory, or it is more than 4 GiB. */
  constructor(bytes: number) {
    if (!(bytes >= 0 && bytes <= MAX_BYTES)) {
      throw new RangeError(`an arena of ${bytes} bytes: it can hold 0 to ${MAX_BYTES}`);
    }
    const pages = Math.ceil(bytes / PAGE);
    this.memory = new WebAssembly.Memory({ initial: pages, maximum: pages });
  }

  /** Bytes that views of these element counts take, the padding between them included. */
  static bytesFor(counts: Iterable<number>): number {
    let bytes = 0;
    for (const count of counts) bytes += align(count * ELEMENT);
    return bytes;
  }

  get usedBytes(): number {
    return this.#used;
  }

  float32(count: number): Float32Array {
    return new Float32Array(this.memory.buffer, this.#take(count), count);
  }

  int32(count: number): Int32Array {
    return new Int32Array(this.memory.buffer, this.#take(count), count);
  }

  int8(count: number): Int8Array {
    return new Int8Array(this.memory.buffer, this.#take(Math.ceil(count / ELEMENT)), count);
  }

  int16(count: number): Int16Array {
    return new Int16Array(this.memory.buffer, this.#take(Math.ceil((2 * count) / ELEMENT)), count);
  }

  holds(view: ArrayBufferView): boolean {
    return view.buffer === this.memory.buffer;
  }

  #take(count: number): number {
    if (!(Number.isSafeInteger(count) && count >= 0)) {
      throw new RangeError(`${count} elements: not a count`);
    }
    const start = this.#used;
    const end = start + align(count * ELEMENT);
    if (end > this.memory.buffer.byteLength) {
      const free = this.memory.buffer.byteLength - start;
      throw new RangeError(`the arena has ${free} bytes left, ${count} elements need ${end - start}`);
    }
    this.#used = end;
    return start;
  }
}

function align(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}
