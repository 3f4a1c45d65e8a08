import { readSync } from 'node:fs';

/** Reads protobuf messages in a file field by field, without reading what is skipped. */

/** A part of a file: [from, to). */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A field of a message. */
export interface WireField extends Span {
  readonly number: number;
  /** The value of a number; NaN for messages, texts and bytes. */
  readonly value: number;
}

/** How much is read at a time. */
const WINDOW_BYTES = 1 << 16;
/** Numbers of 64 bits. */
const MAX_VARINT_BYTES = 10;

/** How protobuf stores a field. */
export const WireType = { varint: 0, eight: 1, span: 2, four: 5 } as const;

/** @throws Error, from all methods, for what is not protobuf or is cut off. */
export class WireFile {
  #buffer: Buffer | undefined;
  /** The part of the buffer that was read. */
  #window: Buffer = Buffer.alloc(0);
  #start = 0;
  /** Where the last number that was read ended. */
  #end = 0;

  constructor(
    readonly descriptor: number,
    readonly bytes: number,
  ) {}

  /** The fields of a message, in their order. */
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
    const characters = Buffer.alloc(to - from);
    for (let at = from; at < to; at += 1) characters[at - from] = this.#byte(at);
    return characters.toString('utf8');
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
    if (start + bytes > to) throw new Error(`it is cut off at byte ${to}, or not a protobuf message`);
    return { number, from: start, to: start + bytes, value: Number.NaN };
  }

  /** Sets `#end`. A negative number, which takes all 64 bits, is read as a very large one. */
  #varint(from: number, to: number): number {
    let value = 0;
    let factor = 1;
    for (let at = from; at < to && at < from + MAX_VARINT_BYTES; at += 1) {
      const byte = this.#byte(at);
      value += (byte & 0x7f) * factor;
      factor *= 128;
      if (byte < 0x80) {
        this.#end = at + 1;
        return value;
      }
    }
    throw new Error(`byte ${from} is not part of a protobuf message`);
  }

  #byte(at: number): number {
    if (at < this.#start || at >= this.#start + this.#window.length) this.#read(at);
    return this.#window[at - this.#start] ?? 0;
  }

  #read(at: number): void {
    this.#buffer ??= Buffer.alloc(WINDOW_BYTES);
    const read = readSync(this.descriptor, this.#buffer, 0, WINDOW_BYTES, at);
    if (read === 0) throw new Error(`it ends at byte ${at}`);
    this.#start = at;
    this.#window = this.#buffer.subarray(0, read);
  }
}

/** A whole number as protobuf writes it: seven bits a byte, the lowest first; negative ones in two's complement of 64 bits. */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  if (value < 0) {
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) + 128);
    return [...bytes, Number(rest)];
  }
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}
