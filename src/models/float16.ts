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

/** Exponents are stored with 127 added in float32, and with 15 in float16. */
const EXPONENT_SHIFT = 2 ** (127 - 15);
/** What an infinity's bits would be if they stood for a number. */
const BEYOND = 2 ** 16;

/** The numbers that these bits stand for: moved to their places in a float32, they only lack the larger exponent. */
export function fromFloat16Bits(bits: Uint16Array): Float32Array {
  const moved = new Int32Array(bits.length);
  const values = new Float32Array(moved.buffer);
  for (let at = 0; at < bits.length; at += 1) {
    const each = bits[at] ?? 0;
    moved[at] = ((each & 0x8000) << 16) | ((each & 0x7fff) << 13);
    const value = (values[at] ?? 0) * EXPONENT_SHIFT;
    values[at] = Math.abs(value) < BEYOND ? value : special(value);
  }
  return values;
}

/** An infinity if the fraction is 0, else not a number. */
function special(value: number): number {
  return Math.abs(value) === BEYOND ? value * Number.POSITIVE_INFINITY : Number.NaN;
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}

/** The values rounded to float16. */
export function roundedToFloat16(values: Float32Array): Float32Array {
  return fromFloat16Bits(Uint16Array.from(values, toFloat16Bits));
}
