import { endOfWholeVectors, storeLanes, VECTOR } from './lanes';

/** target[i] = value. */
export function fill(target: usize, count: i32, value: f32): void {
  const vector = f32x4.splat(value);
  const whole = endOfWholeVectors(target, count);
  for (; target < whole; target += VECTOR) v128.store(target, vector);
  storeLanes(target, vector, count & 3);
}
