import { type JsonShape, shaped } from '../json-shape.js';

/** A metadata entry of a file, parsed as JSON; undefined if it is missing or doesn't fit the shape. */
export function parseEntry<T>(shape: JsonShape<T>, entry: string | undefined): T | undefined {
  try {
    return shaped(shape, JSON.parse(entry ?? ''));
  } catch {
    return undefined;
  }
}
