import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';

/** How many bytes at the start of a file decide its kind. */
const HEAD_BYTES = 512;

interface Signature {
  readonly kind: string;
  readonly bytes: string | readonly number[];
  /** Offset of the signature in bytes. Default 0. */
  readonly at?: number;
}

/** The kind of a zip archive. */
export const ZIP = 'a zip archive';

const signatures: readonly Signature[] = [
  { kind: ZIP, bytes: 'PK\x03\x04' },
  // A zip without entries consists of its end record alone.
  { kind: ZIP, bytes: 'PK\x05\x06' },
  { kind: 'a gzip file', bytes: [0x1f, 0x8b] },
  { kind: 'a tar file', bytes: 'ustar', at: 257 },
  { kind: 'a 7-Zip file', bytes: [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c] },
  { kind: 'a RAR file', bytes: 'Rar!' },
  { kind: 'a bzip2 file', bytes: 'BZh' },
  { kind: 'an xz file', bytes: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00] },
  { kind: 'a Zstandard file', bytes: [0x28, 0xb5, 0x2f, 0xfd] },
  { kind: 'a Parquet file', bytes: 'PAR1' },
  { kind: 'a PDF document', bytes: '%PDF' },
  { kind: 'a Git LFS pointer, not the file itself', bytes: 'version https://git-lfs' },
];

/**
 * What a file is, judged by its first bytes: `a zip archive`, `an HTML page`, `an empty file`, …
 * @throws the file system's error if it can't be read.
 */
export function fileKind(path: string): string {
  const head = Buffer.alloc(HEAD_BYTES);
  const file = openSync(path, 'r');
  try {
    return kindOf(head.subarray(0, readSync(file, head)));
  } finally {
    closeSync(file);
  }
}

function kindOf(head: Buffer): string {
  if (head.length === 0) return 'an empty file';
  const known = signatures.find(({ bytes, at = 0 }) => {
    const expected = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Buffer.from(bytes);
    return head.subarray(at, at + expected.length).equals(expected);
  });
  return known?.kind ?? textKind(head);
}

function textKind(head: Buffer): string {
  const start = head
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  if (/^<(!doctype html|html|head|body|script|!--)/i.test(start)) return 'an HTML page';
  if (start.startsWith('<')) return 'an XML document';
  // The head may end within a character; its last three bytes are left out of the check.
  const isText = !head.includes(0) && isUtf8(head.subarray(0, Math.max(head.length - 3, 1)));
  if (!isText) return 'a file of an unknown kind';
  return /^[[{]/.test(start) ? 'a JSON document' : 'a text file';
}
