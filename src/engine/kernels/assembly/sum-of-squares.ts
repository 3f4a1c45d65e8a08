import { endOfWholeVectors, loadLanes, VECTOR } from './lanes';

/** Σ values[i]². A square of an f32 is exact in f64 and the sum runs in f64, in four interleaved partial sums. */
export function sumOfSquares(values: usize, count: i32): f64 {
  let low = f64x2.splat(0);
  let high = f64x2.splat(0);
  const whole = endOfWholeVectors(values, count);
  for (; values < whole; values += VECTOR) {
    const vector = v128.load(values);
    low = addSquares(low, lowerHalf(vector));
    high = addSquares(high, upperHalf(vector));
  }
  const rest = count & 3;
  if (rest > 0) {
    const vector = loadLanes(values, rest);
    low = addSquares(low, lowerHalf(vector));
    high = addSquares(high, upperHalf(vector));
  }
  const sum = f64x2.add(low, high);
  return f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1);
}

@inline
function addSquares(sum: v128, values: v128): v128 {
  return f64x2.add(sum, f64x2.mul(values, values));
}

@inline
function lowerHalf(vector: v128): v128 {
  return f64x2.promote_low_f32x4(vector);
}

@inline
function upperHalf(vector: v128): v128 {
  return f64x2.promote_low_f32x4(i64x2.shuffle(vector, vector, 1, 1));
}
