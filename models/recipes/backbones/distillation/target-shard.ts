import { readFileSync } from 'node:fs';
import { replaceFile } from '../../../../src/files/index.js';
import {
  decodeSafetensors,
  encodeSafetensors,
  type IntegerTensor,
} from '../../../../src/safetensors/index.js';
import type { TokenRange } from './aligned-spans.js';

/** The teacher's targets for one passage. Only the direction of a vector counts, so vectors have no scale. */
export interface TextTargets {
  /** The student's token ids, [CLS] and [SEP] included. */
  readonly ids: Int32Array;
  /**
   * The range of the student's tokens that each vector except the first is about, in the order of the text.
   */
  readonly spans: readonly TokenRange[];
  /** Vectors of the whole passage and then of each span: [1 + spans, width]. */
  readonly vectors: Int8Array;
}

/** Writes the targets of some passages into one file, atomically. @param width width of a vector. */
export async function writeTargetShard(
  file: string,
  texts: readonly TextTargets[],
  width: number,
): Promise<void> {
  const ids = concatenated(texts.map((text) => text.ids));
  const spans = texts.flatMap((text) => text.spans.flatMap(({ start, end }) => [start, end]));
  const vectors = new Int8Array(texts.reduce((sum, text) => sum + text.vectors.length, 0));
  let at = 0;
  for (const text of texts) {
    vectors.set(text.vectors, at);
    at += text.vectors.length;
  }
  const tensors = new Map<string, IntegerTensor>([
    ['ids', vector(ids)],
    ['tokens', vector(Int32Array.from(texts, (text) => text.ids.length))],
    ['spans', { shape: [spans.length / 2, 2], values: Int32Array.from(spans) }],
    ['span_counts', vector(Int32Array.from(texts, (text) => text.spans.length))],
    ['vectors', { shape: [vectors.length / width, width], values: vectors }],
  ]);
  await replaceFile(file, encodeSafetensors(tensors), { draft: `${file}.draft` });
}

export function readTargetShard(file: string): TextTargets[] {
  const { integers } = decodeSafetensors(readFileSync(file), file);
  const tensor = (name: string) => {
    const found = integers.get(name);
    if (found === undefined) throw new Error(`${file}: tensor ${name} is missing; compute the shard anew`);
    return found;
  };
  const ids = Int32Array.from(tensor('ids').values);
  const spans = tensor('spans').values;
  const spanCounts = tensor('span_counts').values;
  const { shape, values } = tensor('vectors');
  const vectors = values instanceof Int8Array ? values : Int8Array.from(values);
  const width = shape[1] ?? 0;
  const texts: TextTargets[] = [];
  let token = 0;
  let span = 0;
  for (const [text, tokens] of tensor('tokens').values.entries()) {
    const count = spanCounts[text] ?? 0;
    const firstVector = span + text;
    texts.push({
      ids: ids.subarray(token, token + tokens),
      spans: Array.from({ length: count }, (_, at) => ({
        start: spans[2 * (span + at)] ?? 0,
        end: spans[2 * (span + at) + 1] ?? 0,
      })),
      vectors: vectors.subarray(firstVector * width, (firstVector + count + 1) * width),
    });
    token += tokens;
    span += count;
  }
  return texts;
}

const vector = (values: Int32Array) => ({ shape: [values.length], values });

function concatenated(arrays: readonly Int32Array[]): Int32Array {
  const all = new Int32Array(arrays.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    all.set(array, at);
    at += array.length;
  }
  return all;
}
