import { createHash } from 'node:crypto';

/** File systems allow 255 bytes; the rest is room for additions to a name. */
const MAX_NAME_LENGTH = 150;
/** How much of a text that is too long for a name stays readable, before its SHA-256. */
const READABLE_LENGTH = 80;
/** Names that Windows reserves for devices, with any extension. */
const WINDOWS_DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)$/;

/**
 * A text as a file name of at most 150 characters of a–z, 0–9 and `-_%~`. Different texts get different
 * names, even on file systems that ignore case or normalize Unicode. If the text's {@link escapeName} is too
 * long, the name ends in `~` and a hash, and the text can't be read back from it.
 */
export function encodeFileName(text: string): string {
  const name = escapeName(text);
  return name.length > MAX_NAME_LENGTH ? `${name.slice(0, READABLE_LENGTH)}${hashedName(text)}` : name;
}

/** A text as a name of any length: a UTF-16 code unit that is not a–z, 0–9, `-` or `_` becomes `%2f` or `%u00e9`. */
export function escapeName(text: string): string {
  const name = text.replace(/[^a-z0-9_-]/g, escapeUnit);
  return WINDOWS_DEVICE.test(name) ? name.replace(/^./, escapeUnit) : name;
}

/** The text that {@link escapeName} made this name from; undefined for any other name. */
export function unescapeName(name: string): string | undefined {
  const text = name.replace(/%u([0-9a-f]{4})|%([0-9a-f]{2})/g, (_, wide?: string, narrow?: string) =>
    String.fromCharCode(Number.parseInt(wide ?? narrow ?? '', 16)),
  );
  return escapeName(text) === name ? text : undefined;
}

/** `~` and the SHA-256 of a text: of its UTF-16 units, not of UTF-8, in which all lone surrogates are the same. */
export function hashedName(text: string): string {
  return `~${createHash('sha256').update(text, 'utf16le').digest('hex')}`;
}

function escapeUnit(unit: string): string {
  const code = unit.charCodeAt(0);
  return code < 0x80 ? `%${hexadecimal(code, 2)}` : `%u${hexadecimal(code, 4)}`;
}

function hexadecimal(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
