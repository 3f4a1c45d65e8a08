import { describe, expect, it } from 'vitest';
import { exportedBytes, parseShape, sizeInWords, sizeShapes } from '../../models/recipes/backbones/student/shape.js';
import { newBert, newEncoder } from '../../src/encoder/index.js';
import { encodeByteRows } from '../../src/models/index.js';

const VOCABULARY = 16_000;
const shaped = (written: string) => newBert(parseShape(written), VOCABULARY);

describe('the shape of a student', () => {
  it.each(['mini', 'base'] as const)('of size %s is that of jobs', (size) => {
    expect(shaped(sizeShapes[size]).config).toEqual(newEncoder(size, VOCABULARY).config);
  });

  it('has heads as wide as they can be', () => {
    expect(parseShape('12x192')).toEqual({ layers: 12, width: 192, heads: 3 });
    expect(parseShape('3x160')).toEqual({ layers: 3, width: 160, heads: 5 });
    expect(() => parseShape('6x250')).toThrow('"6x250" is no shape');
    expect(() => parseShape('6×')).toThrow('is no shape');
  });

  it('takes as many bytes as its file, but for names', () => {
    const encoder = shaped('1x64');
    const tensors = encoder.parameters('').map(({ name, shape }) => {
      const size = shape.reduce((product, each) => product * each, 1);
      return [name, { shape, values: new Float32Array(size).fill(1) }] as const;
    });
    const file = encodeByteRows(new Map(tensors)).length;
    expect(Math.abs(file - exportedBytes(encoder))).toBeLessThan(5_000);
  });

  it('must be within its size', () => {
    expect(sizeInWords(shaped('4x256'), 'mini')).toBe('7.5 MB');
    expect(sizeInWords(shaped('6x384'), 'base')).toBe('17.2 MB');
    expect(() => sizeInWords(shaped('6x384'), 'mini')).toThrow('more than the 15.0 MB of mini');
  });
});
