/**
 * Checks of the views that kernels are given. Each throws a RangeError that names the view that doesn't fit.
 */
import type { Arena } from './arena.js';

/** Elements that a dot product handles at a time; rows are padded to a multiple of it. */
export const DOT_STEP = 16;

type NamedViews = Readonly<Record<string, Float32Array | Int32Array | Int16Array | Int8Array>>;

export function requireInside(arena: Arena, views: NamedViews): void {
  for (const [name, view] of Object.entries(views)) {
    if (!arena.holds(view)) throw new RangeError(`${name}: not a view of this arena`);
  }
}

export function requireLength(length: number, views: NamedViews): void {
  for (const [name, view] of Object.entries(views)) {
    if (view.length !== length) throw new RangeError(`${name}: ${view.length} elements, expected ${length}`);
  }
}

/** @throws RangeError if rows can't be cut into steps of {@link DOT_STEP} elements. */
export function requireWidth(width: number): void {
  if (width % DOT_STEP !== 0)
    throw new RangeError(`rows of ${width}: the width is not a multiple of ${DOT_STEP}`);
}

/** Columns of `values`, [bags, width]. */
export function widthOfBags(bags: number, values: Float32Array): number {
  const width = bags === 0 ? 0 : values.length / bags;
  if (width % 4 !== 0) {
    throw new RangeError(`${values.length} elements are not ${bags} rows whose width is a multiple of 4`);
  }
  return width;
}

export function rowsOf(table: Float32Array, width: number): number {
  const rows = table.length / width;
  if (!Number.isInteger(rows)) {
    throw new RangeError(`table: ${table.length} elements are not a whole number of rows of ${width}`);
  }
  return rows;
}

/** @param wrong index of the first id outside the table, or -1. */
export function requireKnownIds(wrong: number, ids: Int32Array, tableRows: number): void {
  if (wrong >= 0) {
    throw new RangeError(`ids[${wrong}] is ${ids[wrong]}: the table has rows 0 to ${tableRows - 1}`);
  }
}
