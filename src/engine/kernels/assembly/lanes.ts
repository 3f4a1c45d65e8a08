/** Bytes of one f32. */
export const F32: usize = 4;
/** Bytes of one vector of four f32. */
export const VECTOR: usize = 16;

/** End of the part of [pointer, pointer + count f32) that divides into whole vectors. */
@inline
export function endOfWholeVectors(pointer: usize, count: i32): usize {
  return pointer + (<usize>(count & ~3)) * F32;
}

/** The first `lanes` (1 to 4) f32 at `pointer`, the others 0. Reads nothing beyond them. */
@inline
export function loadLanes(pointer: usize, lanes: i32): v128 {
  if (lanes >= 4) return v128.load(pointer);
  let vector = v128.load_zero<f32>(pointer);
  if (lanes > 1) vector = v128.load_lane<f32>(pointer + F32, vector, 1);
  if (lanes > 2) vector = v128.load_lane<f32>(pointer + 2 * F32, vector, 2);
  return vector;
}

/** Writes the first `lanes` f32 of a vector (none where `lanes` is 0 or less) and nothing beyond them. */
@inline
export function storeLanes(pointer: usize, vector: v128, lanes: i32): void {
  if (lanes >= 4) {
    v128.store(pointer, vector);
    return;
  }
  if (lanes > 0) v128.store_lane<f32>(pointer, vector, 0);
  if (lanes > 1) v128.store_lane<f32>(pointer + F32, vector, 1);
  if (lanes > 2) v128.store_lane<f32>(pointer + 2 * F32, vector, 2);
}
