import type { NamedTensor } from '../../../src/model-folder/index.js';

const scratch = new DataView(new ArrayBuffer(4));

/**
 * The bits of the nearest float16 (IEEE 754 binary16, ties to even); beyond ±65,519 an infinity.
 * Weights of this recipe are below 10, so that their error is at most one part in 2,048, or 2⁻²⁵ near 0.
 */
export function toFloat16Bits(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00; // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  // Below 2⁻¹⁴ float16 is a whole number of 2⁻²⁴.
  if (magnitude < 0x38800000) return sign | roundToEven(Math.abs(value) * 2 ** 24);
  const rebiased = magnitude - 0x38000000;
  return sign | ((rebiased + 0xfff + ((rebiased >>> 13) & 1)) >>> 13);
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}

/** A safetensors file with all tensors as F16, for weights that are kept in a repository. */
export function encodeHalfPrecision(tensors: ReadonlyMap<string, NamedTensor>): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  let end = 0;
  for (const [name, { shape, values }] of tensors) {
    header[name] = { dtype: 'F16', shape, data_offsets: [end, end + 2 * values.length] };
    end += 2 * values.length;
  }
  const text = Buffer.from(JSON.stringify(header));
  // Spaces after the header align the numbers to 8 bytes.
  const start = 8 + Math.ceil(text.length / 8) * 8;
  const file = new Uint8Array(start + end).fill(0x20, 8, start);
  file.set(text, 8);
  const view = new DataView(file.buffer);
  view.setBigUint64(0, BigInt(start - 8), true);
  let at = start;
  for (const { values } of tensors.values()) {
    for (const value of values) {
      view.setUint16(at, toFloat16Bits(value), true);
      at += 2;
    }
  }
  return file;
}
