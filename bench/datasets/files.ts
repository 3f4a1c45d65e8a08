import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

/** A file of a dataset, decompressed where its name ends in `.br`. */
export function readBytes(folder: string, file: string): Buffer {
  const bytes = readFileSync(join(folder, file));
  return file.endsWith('.br') ? brotliDecompressSync(bytes) : bytes;
}

/** The same as UTF-8. */
export function readText(folder: string, file: string): string {
  return readBytes(folder, file).toString('utf8');
}

/** Lines that aren't blank; only LF ends a line. */
export const nonBlankLines = (content: string): string[] => content.split('\n').filter((line) => line.trim() !== '');
