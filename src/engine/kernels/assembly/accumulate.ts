import { endOfWholeVectors, loadLanes, storeLanes, VECTOR } from './lanes';

/** target[i] += weight · addend[i]. */
export function accumulate(target: usize, addend: usize, count: i32, weight: f32): void {
  const factor = f32x4.splat(weight);
  const whole = endOfWholeVectors(target, count);
  for (; target < whole; target += VECTOR, addend += VECTOR) addScaled(target, addend, factor, 4);
  const rest = count & 3;
  if (rest > 0) addScaled(target, addend, factor, rest);
}

@inline
function addScaled(target: usize, addend: usize, factor: v128, lanes: i32): void {
  const scaled = f32x4.mul(loadLanes(addend, lanes), factor);
  storeLanes(target, f32x4.add(loadLanes(target, lanes), scaled), lanes);
}
