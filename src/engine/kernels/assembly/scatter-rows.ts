import { accumulate } from './accumulate';
import { fill } from './fill';
import { F32 } from './lanes';

/** Bytes of one i32 id. */
const ID: usize = 4;

/**
 * table[ids[i]] += rows[i], in the order of i; an id may occur several times.
 * Shapes: table [tableRows, width], ids [count], rows [count, width].
 * Returns -1; or the index of the first id outside the table, in which case nothing was written.
 */
export function scatterAddRows(table: usize, tableRows: i32, width: i32, ids: usize, rows: usize, count: i32): i32 {
  const wrong = firstOutside(ids, count, tableRows);
  if (wrong >= 0) return wrong;
  const rowBytes = <usize>width * F32;
  for (let i = 0; i < count; i++) {
    const id = <usize>load<u32>(ids + <usize>i * ID);
    accumulate(table + id * rowBytes, rows + <usize>i * rowBytes, width, 1);
  }
  return -1;
}

/** table[ids[i]] = 0. Shapes and return value as in `scatterAddRows`. */
export function zeroRows(table: usize, tableRows: i32, width: i32, ids: usize, count: i32): i32 {
  const wrong = firstOutside(ids, count, tableRows);
  if (wrong >= 0) return wrong;
  const rowBytes = <usize>width * F32;
  for (let i = 0; i < count; i++) {
    const id = <usize>load<u32>(ids + <usize>i * ID);
    fill(table + id * rowBytes, width, 0);
  }
  return -1;
}

function firstOutside(ids: usize, count: i32, tableRows: i32): i32 {
  for (let i = 0; i < count; i++) {
    // Unsigned, so that a negative id is outside too.
    if (load<u32>(ids + <usize>i * ID) >= <u32>tableRows) return i;
  }
  return -1;
}
