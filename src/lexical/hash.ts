/** One step of a multiplicative hash over 32-bit integers. */
export function combineHash(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
