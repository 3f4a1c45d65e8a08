import { utf8Text } from '../../system/index.js';

/** Reads protobuf messages field by field, from a file or from memory. Of a file, it doesn't read what is skipped. */

/** A part of a file: [from, to). */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface WireField extends Span {
  readonly number: number;
  /** The value of a number; NaN for messages, texts and bytes. */
  readonly value: number;
}

/** Fills `into` with the bytes of a file from `at` on. @returns how many there were */
type ReadBytes = (into: Uint8Array, at: number) => number;

/** How much is read at a time; most of it is often skipped. */
const WINDOW_BYTES = 1 << 12;
/** Numbers of 64 bits. */
const MAX_VARINT_BYTES = 10;

/** How protobuf stores a field. */
export const WireType = { varint: 0, eight: 1, span: 2, four: 5 } as const;

/** @throws Error, from all methods, for what is not protobuf or is cut off. */
export class WireFile {
  #buffer: Uint8Array | undefined;
  #window: Uint8Array = new Uint8Array();
  #start = 0;
  /** Where the last number that was read ended. */
  #end = 0;

  readonly #read: ReadBytes;

  /** @param source all bytes, or what reads a file. */
  constructor(
    source: Uint8Array | ReadBytes,
    readonly bytes: number,
  ) {
    const isFile = typeof source === 'function';
    this.#read = isFile ? source : () => 0;
    if (!isFile) this.#window = source;
  }

  *fields({ from, to }: Span): Generator<WireField, void> {
    let at = from;
    while (at < to) {
      const tag = this.#varint(at, to);
      const field = this.#field(Math.floor(tag / 8), tag % 8, to);
      yield field;
      at = field.to;
    }
  }

  /** The numbers of a repeated field, which is packed into one span or has one value. */
  *numbers(field: WireField): Generator<number, void> {
    if (!Number.isNaN(field.value)) {
      yield field.value;
      return;
    }
    for (let at = field.from; at < field.to; at = this.#end) yield this.#varint(at, field.to);
  }

  /** @param most of its bytes; a longer one is refused. */
  text({ from, to }: Span, most: number): string {
    if (to - from > most) throw new Error(`it has a name of ${to - from} bytes`);
    const characters = new Uint8Array(to - from);
    for (let at = from; at < to; at += 1) characters[at - from] = this.#byte(at);
    return utf8Text(characters);
  }

  #field(number: number, type: number, to: number): WireField {
    const from = this.#end;
    if (type === WireType.varint) {
      const value = this.#varint(from, to);
      return { number, from, to: this.#end, value };
    }
    let bytes = type === WireType.eight ? 8 : 4;
    let start = from;
    if (type === WireType.span) {
      bytes = this.#varint(from, to);
      start = this.#end;
    } else if (type !== WireType.eight && type !== WireType.four) {
      throw new Error(`byte ${from} is not part of a protobuf message`);
    }
    if (bytes < 0 || start + bytes > to) throw new Error(`it is cut off at byte ${to}, or not a protobuf message`);
    return { number, from: start, to: start + bytes, value: Number.NaN };
  }

  /** Sets `#end`. A negative number takes all 64 bits, of which the last byte has the sign. */
  #varint(from: number, to: number): number {
    const first = from < to ? this.#byte(from) : 0x80;
    if (first < 0x80) {
      this.#end = from + 1;
      return first;
    }
    let value = 0;
    /** Exact where the number is -1 - this: the sum above is rounded then. */
    let complement = 0;
    let factor = 1;
    for (let at = from; at < to && at < from + MAX_VARINT_BYTES; at += 1) {
      const byte = this.#byte(at);
      const isLast = at === from + MAX_VARINT_BYTES - 1;
      if (isLast && byte > 1) break;
      if (byte < 0x80) this.#end = at + 1;
      if (isLast && byte === 1) return -1 - complement;
      value += (byte & 0x7f) * factor;
      complement += (~byte & 0x7f) * factor;
      factor *= 128;
      if (byte < 0x80) return value;
    }
    throw new Error(`byte ${from} is not part of a protobuf message`);
  }

  #byte(at: number): number {
    if (at < this.#start || at >= this.#start + this.#window.length) this.#move(at);
    return this.#window[at - this.#start] ?? 0;
  }

  #move(at: number): void {
    this.#buffer ??= new Uint8Array(WINDOW_BYTES);
    const read = this.#read(this.#buffer, at);
    if (read === 0) throw new Error(`it ends at byte ${at}`);
    this.#start = at;
    this.#window = this.#buffer.subarray(0, read);
  }
}

/** A whole number as protobuf writes it: seven bits a byte, the lowest first, and all 64 bits of a negative one. */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value < 0 ? -1 - value : value; ; rest = Math.floor(rest / 128)) {
    if (value < 0 && bytes.length === MAX_VARINT_BYTES - 1) return [...bytes, 1];
    if (value < 0) bytes.push(255 - (rest % 128));
    else if (rest < 128) return [...bytes, rest];
    else bytes.push((rest % 128) + 128);
  }
}
