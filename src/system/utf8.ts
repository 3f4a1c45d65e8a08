/** As `Buffer.toString` reads it, in places without Node: a byte order mark stays. */
export function utf8Text(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
