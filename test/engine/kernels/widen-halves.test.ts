import { describe, expect, it } from 'vitest';
import { Arena, loadKernels } from '../../../src/engine/index.js';
import { fromFloat16Bits } from '../../../src/models/index.js';

describe('widenHalves', () => {
  it('gives every float16 its value, infinities, NaN and subnormals too', () => {
    const every = Uint16Array.from({ length: 1 << 16 }, (_, bits) => bits);
    const arena = new Arena(1 << 20);
    const floats = arena.float32(every.length);
    expect(loadKernels(arena).widenHalves(every, floats)).toBe(false);
    expect(floats).toEqual(fromFloat16Bits(every));
    const kept = [0x3c00, 0xc000, 0x0001, 0x8000, 0x7c00].map((bits) => floats[bits]);
    expect(kept).toEqual([1, -2, 2 ** -24, -0, Number.POSITIVE_INFINITY]);
  });

  it('says whether all are finite', () => {
    const arena = new Arena(1 << 12);
    const floats = arena.float32(9);
    const { widenHalves } = loadKernels(arena);
    const halves = new Uint16Array(9).fill(0xfbff);
    expect(widenHalves(halves, floats)).toBe(true);
    for (let at = 0; at < halves.length; at += 1) {
      for (const wrong of [0x7c00, 0xfc00, 0x7e01]) {
        expect(widenHalves(halves.with(at, wrong), floats)).toBe(false);
      }
    }
  });

  it('writes nothing beyond any number of them', () => {
    for (let count = 0; count < 40; count += 1) {
      const halves = Uint16Array.from({ length: count }, (_, at) => 0x3c00 + 7 * at);
      const arena = new Arena(1 << 12);
      const [floats, next] = [arena.float32(count), arena.float32(4).fill(9)];
      loadKernels(arena).widenHalves(halves, floats);
      expect(floats).toEqual(fromFloat16Bits(halves));
      expect([...next]).toEqual([9, 9, 9, 9]);
    }
  });
});
