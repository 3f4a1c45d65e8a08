import { Arena, type ForwardKernels, loadForwardKernels } from '../engine/index.js';

/** Every piece starts at a multiple of this many bytes. */
const ALIGNMENT = 64;
/** Kernels read up to two vectors after the last row. */
const SLACK_BYTES = 64;

type Values = Float32Array | Int32Array | Int8Array | Uint8Array;
type Fill = (kernels: ForwardKernels, memory: ArrayBuffer) => void;

/**
 * Addresses in a memory whose size is known only when all its pieces are: they are taken first, then `allocate` makes the
 * memory and fills it. No piece is at address 0, which means "none".
 */
export class MemoryLayout {
  readonly #fills: Fill[] = [];
  #end = ALIGNMENT;
  #staging = 0;

  /** @returns the address of this number of bytes, which are 0 at first */
  take(bytes: number): number {
    const at = this.#end;
    this.#end = Math.ceil((at + bytes) / ALIGNMENT) * ALIGNMENT;
    return at;
  }

  /** @returns the address of a copy, with zeros after it up to `bytes` */
  put(values: Values, bytes = values.byteLength): number {
    const at = this.take(bytes);
    this.#fills.push((_, memory) => copy(values, memory, at));
    return at;
  }

  /** A piece that a kernel makes of values. @param pack given the addresses of a copy, which is overwritten later, and of the piece */
  packed(values: Values, bytes: number, pack: (kernels: ForwardKernels, from: number, to: number) => void): number {
    const at = this.take(bytes);
    this.#staging = Math.max(this.#staging, values.byteLength);
    this.#fills.push((kernels, memory) => {
      const from = memory.byteLength - Math.ceil(this.#staging / ALIGNMENT) * ALIGNMENT;
      copy(values, memory, from);
      pack(kernels, from, at);
    });
    return at;
  }

  /** @throws RangeError if the machine can't provide that much memory, or it is more than 4 GiB */
  allocate(): { readonly kernels: ForwardKernels; readonly memory: ArrayBuffer } {
    const arena = new Arena(this.#end + SLACK_BYTES + this.#staging + ALIGNMENT);
    const kernels = loadForwardKernels(arena);
    const memory = arena.memory.buffer;
    for (const fill of this.#fills.splice(0)) fill(kernels, memory);
    return { kernels, memory };
  }
}

function copy({ buffer, byteOffset, byteLength }: Values, memory: ArrayBuffer, at: number): void {
  new Uint8Array(memory, at, byteLength).set(new Uint8Array(buffer, byteOffset, byteLength));
}
