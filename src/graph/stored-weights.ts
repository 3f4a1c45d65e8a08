import { closeSync, openSync, readSync } from 'node:fs';

/** Of a float32. */
export const FLOAT_BYTES = 4;

/** Weights that lie in a file, as little-endian float32. */
export interface StoredWeights {
  /** Its absolute path, without symbolic links. It must not change while a graph with these weights exists. */
  readonly file: string;
  /** In bytes from its start, by the parameter's name; multiples of 4. */
  readonly offsets: ReadonlyMap<string, number>;
}

/**
 * Reads one weight.
 * @param count of its numbers.
 * @throws RangeError if it isn't stored; Error if the file ends before it does, or the file system's.
 */
export function readStoredWeight(
  { file, offsets }: StoredWeights,
  name: string,
  count: number,
): Float32Array {
  const offset = offsets.get(name);
  if (offset === undefined) throw new RangeError(`${file} has no weight ${name}`);
  const values = new Float32Array(count);
  const bytes = new Uint8Array(values.buffer);
  const descriptor = openSync(file, 'r');
  try {
    for (let read = 0; read < bytes.length; ) {
      const more = readSync(descriptor, bytes, read, bytes.length - read, offset + read);
      if (more === 0) throw new Error(`${file} ends within the weight ${name}`);
      read += more;
    }
  } finally {
    closeSync(descriptor);
  }
  return values;
}
