import { describe, expect, it } from 'vitest';
import { isModelFile, modelFilePieces, readModelFile } from '../../src/models/index.js';

const bytesOf = (length: number, seed: number) => Uint8Array.from({ length }, (_, at) => (at * seed + seed) % 251);
const files = new Map([
  ['config.json', bytesOf(70, 3)],
  ['onnx/model.onnx', bytesOf(1000, 7)],
  ['empty.bin', new Uint8Array()],
]);
const whole = Buffer.concat([...modelFilePieces(files)]);

function* inChunks(bytes: Uint8Array, length: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

describe('a model as one file', () => {
  it.each([1, 7, 64, 100, 5000])('has the files that went in, read in chunks of %i bytes', async (length) => {
    const read = await readModelFile(inChunks(whole, length), 'model.orchard');
    expect([...read.keys()]).toEqual([...files.keys()]);
    for (const [name, bytes] of files) expect(Buffer.from(read.get(name) ?? []).equals(bytes)).toBe(true);
  });

  it('says the checksum of its contents in its header: xxHash32, as other programs compute it', () => {
    // xxHash32 with seed 0 of these 64 bytes, computed in Python after the specification.
    const [start = new Uint8Array()] = modelFilePieces(new Map([['a', Buffer.from('abcdefgh'.repeat(8))]]));
    expect(Buffer.from(start).toString()).toContain('"xxh32":"92072b8f"');
  });

  it('is known by its first bytes', () => {
    expect(isModelFile(whole)).toBe(true);
    expect(isModelFile(Buffer.from('{"config":1}'))).toBe(false);
  });

  const reading = (bytes: Uint8Array) => readModelFile([bytes], 'model.orchard');

  it('is refused where a byte of its contents changed', async () => {
    const damaged = Buffer.from(whole);
    damaged[damaged.length - 200] = (damaged[damaged.length - 200] ?? 0) ^ 1;
    await expect(reading(damaged)).rejects.toThrow(/model\.orchard: it is damaged: its checksum is \w{8}, not \w{8}/);
  });

  it.each([0, 5, 12, 100, whole.length - 1])('is refused where it is cut off after %i bytes', async (length) => {
    await expect(reading(whole.subarray(0, length))).rejects.toThrow(`it is cut off after ${length} bytes`);
  });

  it('is refused where it is longer than it says, or is something else', async () => {
    await expect(reading(Buffer.concat([whole, Buffer.of(0)]))).rejects.toThrow('it is longer than its header says');
    await expect(reading(Buffer.from('<!doctype html><title>Not found'))).rejects.toThrow('orchard export --for web');
  });

  it('is refused where a name leads outside the folder', async () => {
    const outside = Buffer.concat([...modelFilePieces(new Map([['../secret', bytesOf(64, 5)]]))]);
    await expect(reading(outside)).rejects.toThrow('its header is damaged');
  });
});
