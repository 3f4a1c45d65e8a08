import { ModelFolderError } from '../../errors.js';
import { decodeSafetensors, encodeSafetensors } from '../../safetensors/index.js';

/** Postings of the sentences of all passages. */
export const SENTENCES_FILE = 'sentences.safetensors';
/** Which sentences are of which passage. */
export const STARTS_FILE = 'sentence-starts.safetensors';
const STARTS = 'starts';

/** @param starts [passages + 1] */
export function encodeStarts(starts: Int32Array): Uint8Array {
  return encodeSafetensors(new Map([[STARTS, { shape: [starts.length], values: starts }]]));
}

/** @param sentences how many there are. @param file named in errors. @throws ModelFolderError */
export function decodeStarts(bytes: Uint8Array, sentences: number, file: string): Int32Array {
  const starts = decodeSafetensors(bytes, file).integers.get(STARTS)?.values;
  const isInOrder = (start: number, at: number) => start >= (starts?.[at - 1] ?? 0);
  if (!(starts instanceof Int32Array) || !starts.every(isInOrder) || starts.at(-1) !== sentences) {
    const reason = `its ${STARTS} don't divide ${sentences} sentences; save the index again`;
    throw new ModelFolderError(file, reason);
  }
  return starts;
}
