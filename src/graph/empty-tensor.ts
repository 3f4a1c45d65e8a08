import type { TensorData } from './executor.js';
import { volume } from './shape.js';
import type { ElementType } from './tensor.js';

/** A tensor of zeros. */
export function emptyTensor(type: ElementType, dims: readonly number[]): TensorData {
  const count = volume(dims);
  if (type === 'float32') return { type, dims, data: new Float32Array(count) };
  if (type === 'int32') return { type, dims, data: new Int32Array(count) };
  return { type, dims, data: new BigInt64Array(count) };
}
