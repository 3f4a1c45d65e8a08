import { readFileSync } from 'node:fs';
import { decodeSafetensors, encodeSafetensors } from '../../../../src/models/index.js';
import { replaceFile } from '../../../../src/system/index.js';
import type { TokenRange } from './aligned-spans.js';

/** A passage as its student reads it, and which of its tokens its targets are about. */
export interface TextSpans {
  /** The student's token ids, [CLS] and [SEP] included. */
  readonly ids: Int32Array;
  /** The range of the student's tokens that each row except a text's first is about, in the order of the text. */
  readonly spans: readonly TokenRange[];
}

/** The passages of one shard, in the order of its rows. */
export class TargetIndex {
  readonly #ids: Int32Array;
  readonly #spans: Int32Array | Int8Array;
  /** Where each text's tokens and spans begin, and at the end where the last's end. */
  readonly #firstToken: Int32Array;
  readonly #firstSpan: Int32Array;

  private constructor(parts: Readonly<Record<TensorName, Int32Array | Int8Array>>) {
    this.#ids = parts.ids instanceof Int32Array ? parts.ids : Int32Array.from(parts.ids);
    this.#spans = parts.spans;
    this.#firstToken = runningSums(parts.tokens);
    this.#firstSpan = runningSums(parts.span_counts);
  }

  /** @throws Error if a tensor is missing. */
  static read(file: string): TargetIndex {
    const { integers } = decodeSafetensors(readFileSync(file), file);
    const values = (name: TensorName) => {
      const found = integers.get(name);
      if (found === undefined) throw new Error(`${file}: tensor ${name} is missing; compute the shard anew`);
      return found.values;
    };
    return new TargetIndex({
      ids: values('ids'),
      tokens: values('tokens'),
      spans: values('spans'),
      span_counts: values('span_counts'),
    });
  }

  get texts(): number {
    return this.#firstToken.length - 1;
  }

  tokens(text: number): number {
    return this.#start(this.#firstToken, text + 1) - this.#start(this.#firstToken, text);
  }

  ids(text: number): Int32Array {
    return this.#ids.subarray(this.#start(this.#firstToken, text), this.#start(this.#firstToken, text + 1));
  }

  spans(text: number): TokenRange[] {
    const first = this.#start(this.#firstSpan, text);
    return Array.from({ length: this.#start(this.#firstSpan, text + 1) - first }, (_, at) => ({
      start: this.#spans[2 * (first + at)] ?? 0,
      end: this.#spans[2 * (first + at) + 1] ?? 0,
    }));
  }

  /** The first of a text's rows, that of the whole passage; those of its spans follow. */
  firstRow(text: number): number {
    return this.#start(this.#firstSpan, text) + text;
  }

  #start(sums: Int32Array, text: number): number {
    return sums[text] ?? 0;
  }
}

type TensorName = 'ids' | 'tokens' | 'spans' | 'span_counts';

/** Writes the index of a shard, atomically. A student's passage has at most 127 tokens, so that spans fit bytes. */
export async function writeTargetIndex(file: string, texts: readonly TextSpans[]): Promise<void> {
  const ids = Int32Array.from(texts.flatMap((text) => [...text.ids]));
  const spans = Int8Array.from(texts.flatMap((text) => text.spans.flatMap(({ start, end }) => [start, end])));
  const tensors = new Map([
    ['ids', { shape: [ids.length], values: ids }],
    ['tokens', counts(texts.map((text) => text.ids.length))],
    ['spans', { shape: [spans.length / 2, 2], values: spans }],
    ['span_counts', counts(texts.map((text) => text.spans.length))],
  ]);
  await replaceFile(file, encodeSafetensors(tensors), { draft: `${file}.${process.pid}.draft` });
}

const counts = (numbers: readonly number[]) => ({
  shape: [numbers.length],
  values: Int32Array.from(numbers),
});

function runningSums(numbers: Int32Array | Int8Array): Int32Array {
  const sums = new Int32Array(numbers.length + 1);
  let sum = 0;
  for (const [at, number] of numbers.entries()) {
    sum += number;
    sums[at + 1] = sum;
  }
  return sums;
}
