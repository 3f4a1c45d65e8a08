import type { ModelSize } from '../../../../src/contract/index.js';
import type { Encoder, Geometry } from '../../../../src/encoder/index.js';

/** The shapes of the sizes that jobs ask for; those of `newEncoder`. */
export const sizeShapes: Readonly<Record<ModelSize, string>> = { mini: '4x256', base: '6x384' };

/** Most bytes that a backbone of each size may take. */
export const SIZE_LIMITS: Readonly<Record<ModelSize, number>> = { mini: 15e6, base: 40e6 };

/** Width of a head, where the student's width is a multiple of it: that of BERT. Else half of it. */
const HEAD_WIDTH = 64;

/** `6x256`: six layers of 256. @throws Error if it isn't written so, or no heads fit. */
export function parseShape(written: string): Geometry {
  const [, layers, width] = /^(\d+)x(\d+)$/u.exec(written) ?? [];
  const shape = { layers: Number(layers), width: Number(width) };
  const headWidth = [HEAD_WIDTH, HEAD_WIDTH / 2].find((each) => shape.width % each === 0);
  if (!(shape.layers >= 1) || !(shape.width >= 1) || headWidth === undefined) {
    throw new Error(`"${written}" is no shape: 6x256 is six layers of 256, a multiple of ${HEAD_WIDTH / 2}`);
  }
  return { ...shape, heads: shape.width / headWidth };
}

export const writtenShape = ({ layers, width }: Geometry): string => `${layers}x${width}`;

/** Bytes of its weights as they are exported: a byte for each number of a matrix, floats for the rest. */
export function exportedBytes(encoder: Encoder): number {
  return encoder.parameters('').reduce((sum, { shape }) => {
    const [rows = 1, columns] = shape;
    return sum + (columns === undefined ? 4 * rows : rows * columns + 4 * rows);
  }, 0);
}

/** @returns the size in words, such as `7.7 MB`. @throws Error if it is more than its size may take. */
export function sizeInWords(encoder: Encoder, size: ModelSize): string {
  const bytes = exportedBytes(encoder);
  const megabytes = (each: number) => `${(each / 1e6).toFixed(1)} MB`;
  if (bytes > SIZE_LIMITS[size])
    throw new Error(`${megabytes(bytes)} are more than the ${megabytes(SIZE_LIMITS[size])} of ${size}`);
  return megabytes(bytes);
}
