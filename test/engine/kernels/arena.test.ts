import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Arena } from '../../../src/engine/index.js';

describe('Arena', () => {
  it('gives zeroed views that start at multiples of 64 bytes and never overlap', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(300), { minLength: 1, maxLength: 20 }), (counts) => {
        const arena = new Arena(Arena.bytesFor(counts));
        const views = counts.map((count, index) => (index % 2 ? arena.int32(count) : arena.float32(count)));
        views.forEach((view, index) => {
          expect(view.byteOffset % 64).toBe(0);
          expect(view).toHaveLength(counts[index] ?? -1);
          expect(view.every((value) => value === 0)).toBe(true);
          view.fill(index + 1);
        });
        views.forEach((view, index) => {
          expect(view.every((value) => value === index + 1)).toBe(true);
        });
      }),
    );
  });

  it('hands out exactly as many bytes as bytesFor foretold', () => {
    const arena = new Arena(Arena.bytesFor([1, 16, 17]));
    arena.float32(1);
    arena.float32(16);
    arena.int32(17);
    expect(arena.usedBytes).toBe(64 + 64 + 128);
    expect(Arena.bytesFor([1, 16, 17])).toBe(256);
  });

  it('refuses a view that no longer fits, and stays usable', () => {
    const arena = new Arena(65_536);
    arena.float32(16_000);
    expect(() => arena.float32(1000)).toThrow('the arena has 1536 bytes left, 1000 elements need 4032');
    expect(arena.float32(384)).toHaveLength(384);
  });

  it('refuses a size that a 32-bit memory cannot hold', () => {
    expect(() => new Arena(2 ** 32)).toThrow(RangeError);
    expect(() => new Arena(Number.NaN)).toThrow(RangeError);
  });

  it('gives views over plain memory, which ONNX Runtime accepts', () => {
    expect(new Arena(64).float32(1).buffer).toBeInstanceOf(ArrayBuffer);
  });
});
