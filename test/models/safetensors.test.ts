import { describe, expect, it } from 'vitest';
import {
  decodeSafetensors,
  encodeSafetensors,
  type IntegerTensor,
  type NamedTensor,
  safetensorsPieces,
} from '../../src/models/index.js';
import { failureOf } from '../support/outcomes.js';

/** A file written by hand from the format's description. */
function file(header: unknown, data: Uint8Array): Uint8Array {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, data]);
}

describe('safetensors', () => {
  it('reads a file written by hand, in every floating-point type, and leaves out integers', () => {
    const data = Buffer.alloc(24);
    data.writeFloatLE(1.5, 0);
    data.writeUInt16LE(0x3e00, 4); // 1.5 in binary16
    data.writeUInt16LE(0x0001, 6); // the smallest binary16, 2^-24
    data.writeUInt16LE(0xbfc0, 8); // -1.5 in bfloat16
    data.writeDoubleLE(0.25, 10);
    const bytes = file(
      {
        single: { dtype: 'F32', shape: [1], data_offsets: [0, 4] },
        half: { dtype: 'F16', shape: [2], data_offsets: [4, 8] },
        brain: { dtype: 'BF16', shape: [1, 1], data_offsets: [8, 10] },
        double: { dtype: 'F64', shape: [], data_offsets: [10, 18] },
        position_ids: { dtype: 'I16', shape: [3], data_offsets: [18, 24] },
      },
      data,
    );
    const { tensors } = decodeSafetensors(bytes, 'model.safetensors');
    expect([...tensors.keys()]).toEqual(['single', 'half', 'brain', 'double']);
    expect(tensors.get('half')?.values).toEqual(Float32Array.of(1.5, 2 ** -24));
    expect(tensors.get('brain')).toEqual({ shape: [1, 1], values: Float32Array.of(-1.5) });
    expect(tensors.get('double')?.values).toEqual(Float32Array.of(0.25));
  });

  it('gives back what it wrote, to the bit, with its metadata', () => {
    const tensors = new Map([
      ['b', { shape: [2, 2], values: Float32Array.of(1, -0, Number.MIN_VALUE, 3e38) }],
      ['a', { shape: [0], values: new Float32Array() }],
    ]);
    const read = decodeSafetensors(encodeSafetensors(tensors, { format: 'pt' }), 'x');
    expect(read.tensors).toEqual(tensors);
    expect(read.metadata).toEqual({ format: 'pt' });
  });

  it('is the same file when it is made piece by piece, a tensor at a time', () => {
    const values = [Float32Array.of(1, 2, 3), Float32Array.of(-0.5, 1e-30)];
    let asked = 0;
    const tensorAt = (at: number): NamedTensor => ({
      shape: [values[at]?.length ?? 0],
      get values() {
        asked += 1;
        return values[at] ?? new Float32Array();
      },
    });
    const tensors = new Map([
      ['first', tensorAt(0)],
      ['second', tensorAt(1)],
    ]);
    const whole = encodeSafetensors(tensors);
    asked = 0;
    const pieces: Uint8Array[] = [];
    for (const piece of safetensorsPieces(tensors)) {
      expect(asked).toBe(pieces.length);
      pieces.push(piece);
    }
    expect(Buffer.concat(pieces).equals(whole)).toBe(true);
  });

  it('leaves float32 numbers where they are in the bytes if asked to, and copies what is not aligned', () => {
    const tensors = new Map([['x', { shape: [2], values: Float32Array.of(1.5, -2) }]]);
    const bytes = encodeSafetensors(tensors);
    const inPlace = decodeSafetensors(bytes, 'x', { inPlace: true }).tensors.get('x')?.values;
    expect(inPlace).toEqual(Float32Array.of(1.5, -2));
    expect(inPlace?.buffer).toBe(bytes.buffer);
    expect(decodeSafetensors(bytes, 'x').tensors.get('x')?.values.buffer).not.toBe(bytes.buffer);
    const shifted = new Uint8Array(bytes.length + 1);
    shifted.set(bytes, 1);
    const copied = decodeSafetensors(shifted.subarray(1), 'x', { inPlace: true }).tensors.get('x')?.values;
    expect(copied).toEqual(Float32Array.of(1.5, -2));
    expect(copied?.buffer).not.toBe(shifted.buffer);
  });

  it('stores floating-point numbers in half the bytes if asked to, and integers as they are', () => {
    const tensors = new Map<string, NamedTensor | IntegerTensor>([
      ['counts', { shape: [3], values: Int8Array.of(1, -2, 127) }],
      ['weights', { shape: [2, 2], values: Float32Array.of(1, -0.5, 65504, 1 / 3) }],
    ]);
    const bytes = encodeSafetensors(tensors, { format: 'pt' }, { floats: 'F16' });
    const header = Buffer.from(bytes.subarray(8)).toString().split('}}')[0];
    expect(header).toContain('"weights":{"dtype":"F16","shape":[2,2],"data_offsets":[3,11]');
    const read = decodeSafetensors(bytes, 'x');
    expect(read.integers.get('counts')).toEqual(tensors.get('counts'));
    // The nearest of binary16 to a third is 1365/4096.
    expect(read.tensors.get('weights')?.values).toEqual(Float32Array.of(1, -0.5, 65504, 1365 / 4096));
  });

  it('reads tensors without elements wherever they lie, and names that are those of objects', () => {
    const entry = (shape: readonly number[], from: number, to: number) => ({
      dtype: 'F32',
      shape,
      data_offsets: [from, to],
    });
    const names = ['__proto__', 'constructor', 'empty', 'last'];
    const entries = [entry([1], 0, 4), entry([1], 4, 8), entry([0, 7], 4, 4), entry([0], 8, 8)];
    const header = `{${names.map((name, at) => `"${name}": ${JSON.stringify(entries[at])}`).join()}}`;
    const { tensors } = decodeSafetensors(file(header, new Uint8Array(8)), 'x');
    expect([...tensors.keys()].sort()).toEqual(names);
    expect(tensors.get('empty')).toEqual({ shape: [0, 7], values: new Float32Array() });
  });

  it('starts the numbers on a multiple of 8 bytes, as the format asks', () => {
    const bytes = encodeSafetensors(new Map([['x', { shape: [1], values: Float32Array.of(1) }]]));
    expect((bytes.length - 4) % 8).toBe(0);
  });

  it.each<[string, Uint8Array, RegExp]>([
    ['an empty file', new Uint8Array(), /it has 0 bytes/],
    ['a header longer than the file', file('{}', new Uint8Array()).subarray(0, 9), /cut off/],
    ['a header that is not JSON', file('{oops', new Uint8Array()), /not a JSON object/],
    [
      'a tensor cut off',
      file({ x: { dtype: 'F32', shape: [2], data_offsets: [0, 8] } }, new Uint8Array(4)),
      /tensor x should have 8 bytes/,
    ],
    [
      'a shape that disagrees',
      file({ x: { dtype: 'F32', shape: [3], data_offsets: [0, 8] } }, new Uint8Array(8)),
      /tensor x should have 12 bytes/,
    ],
    [
      'a dimension without end next to one of 0',
      file({ x: { dtype: 'F32', shape: [0, 1e12], data_offsets: [0, 0] } }, new Uint8Array()),
      /the entry of tensor x is invalid/,
    ],
    [
      'dimensions without end',
      file({ x: { dtype: 'F32', shape: Array(5_000).fill(1), data_offsets: [0, 4] } }, new Uint8Array(4)),
      /the entry of tensor x is invalid/,
    ],
    [
      'a header of lists within lists',
      file(`${'['.repeat(100_000)}${']'.repeat(100_000)}`, new Uint8Array()),
      /not a JSON object/,
    ],
    ['a header of 17 MiB', file(`{}${' '.repeat(17 * 1024 ** 2)}`, new Uint8Array()), /not a header/],
    [
      'bytes that 5,000 tensors share',
      file(
        Object.fromEntries(
          Array.from({ length: 5_000 }, (_, at) => [`x${at}`, { dtype: 'I8', shape: [8], data_offsets: [0, 8] }]),
        ),
        new Uint8Array(8),
      ),
      /tensor x1 starts at byte 0, but the one before it ends at 8/,
    ],
    [
      'bytes of no tensor',
      file({ x: { dtype: 'I8', shape: [2], data_offsets: [0, 2] } }, new Uint8Array(8)),
      /the file has 6 more bytes after its last tensor/,
    ],
    [
      'a name of a megabyte',
      file({ ['x'.repeat(1e6)]: { dtype: 'F32', shape: [3], data_offsets: [0, 8] } }, new Uint8Array(8)),
      /^.{0,300}should have 12 bytes.{0,50}$/,
    ],
  ])('refuses %s, naming the file', async (_, bytes, reason) => {
    const error = await failureOf('model_folder', () => decodeSafetensors(bytes, 'model.safetensors'));
    expect(error.message).toMatch(reason);
    expect(error.file).toBe('model.safetensors');
  });
});
