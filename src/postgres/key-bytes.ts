/**
 * A key as bytes that the database sorts as JavaScript sorts strings, by UTF-16 code units: each unit in
 * UTF-8's pattern, so a pair of surrogates takes six bytes (CESU-8). It can also hold lone surrogates and NUL.
 */
export function keyBytes(key: string): Buffer {
  const bytes: number[] = [];
  for (let at = 0; at < key.length; at += 1) {
    const unit = key.charCodeAt(at);
    if (unit < 0x80) bytes.push(unit);
    else if (unit < 0x800) bytes.push(0xc0 | (unit >> 6), 0x80 | (unit & 0x3f));
    else bytes.push(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f));
  }
  return Buffer.from(bytes);
}

export function keyOf(bytes: Uint8Array): string {
  const units: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [first = 0, second = 0, third = 0] = bytes.subarray(at, at + 3);
    if (first < 0x80) units.push(first);
    else if (first < 0xe0) units.push(((first & 0x1f) << 6) | (second & 0x3f));
    else units.push(((first & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f));
    at += first < 0x80 ? 1 : first < 0xe0 ? 2 : 3;
  }
  return String.fromCharCode(...units);
}

/** The first bytes after all keys that begin with these; undefined for an empty prefix. */
export function afterPrefix(prefix: Buffer): Buffer | undefined {
  if (prefix.length === 0) return undefined;
  const end = Buffer.from(prefix);
  end[end.length - 1] = (end.at(-1) ?? 0) + 1; // no byte of a key is above 0xef
  return end;
}
