import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeWeights, encodeSafetensors, type NamedTensor } from '../../src/models/index.js';

const WIDTH = 16;

/**
 * Copies a BERT checkpoint whose inner layers get more units, with zeros as weights: GELU(0) is 0, so its numbers stay what
 * they were. The WebAssembly engine computes widths that are multiples of 8.
 */
export function widenedCheckpoint(folder: string, to: string): string {
  cpSync(folder, to, { recursive: true });
  const [weights, config] = [join(to, 'model.safetensors'), join(to, 'config.json')];
  const tensors = [...decodeWeights(readFileSync(weights), weights)].map(
    ([name, tensor]) => [name, widened(name, tensor)] as const,
  );
  writeFileSync(weights, encodeSafetensors(new Map(tensors)));
  writeFileSync(config, JSON.stringify({ ...JSON.parse(readFileSync(config, 'utf8')), intermediate_size: WIDTH }));
  return to;
}

function widened(name: string, { shape, values }: NamedTensor): NamedTensor {
  const [rows = 1, columns = 1] = shape;
  if (/intermediate\.dense\.(?:weight|bias)$/u.test(name))
    return ofRows(values, rows, columns, [WIDTH, columns], shape);
  if (/(?<!attention\.)output\.dense\.weight$/u.test(name)) return ofRows(values, rows, columns, [rows, WIDTH], shape);
  return { shape, values };
}

function ofRows(
  values: Float32Array,
  rows: number,
  columns: number,
  [toRows, toColumns]: readonly [number, number],
  shape: readonly number[],
): NamedTensor {
  const wide = new Float32Array(toRows * toColumns);
  for (let row = 0; row < rows; row += 1) {
    wide.set(values.subarray(row * columns, (row + 1) * columns), row * toColumns);
  }
  return { shape: shape.length === 1 ? [toRows] : [toRows, toColumns], values: wide };
}
