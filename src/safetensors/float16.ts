/** IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits. */

const scratch = new DataView(new ArrayBuffer(4));

/** The bits of the nearest float16, ties to even; from ±65,520 on, of an infinity. */
export function toFloat16Bits(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00; // NaN
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  // Below 2⁻¹⁴ (subnormal), a float16 is a whole multiple of 2⁻²⁴.
  if (magnitude < 0x38800000) return sign | roundToEven(Math.abs(value) * 2 ** 24);
  const rebiased = magnitude - 0x38000000;
  return sign | ((rebiased + 0xfff + ((rebiased >>> 13) & 1)) >>> 13);
}

/** Every float16 by its bits; made on first use. */
let decoded: Float32Array | undefined;

/** The number that these bits stand for. */
export function fromFloat16Bits(bits: number): number {
  decoded ??= Float32Array.from({ length: 2 ** 16 }, (_, each) => decode(each));
  return decoded[bits] ?? Number.NaN;
}

function decode(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}

/** The values rounded to float16. */
export function roundedToFloat16(values: Float32Array): Float32Array {
  return values.map((value) => fromFloat16Bits(toFloat16Bits(value)));
}
