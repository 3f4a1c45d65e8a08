import { extname } from 'node:path';

/** How texts are written: one a line, or a field of each record. */
export const inputFormats = ['text', 'jsonl', 'csv', 'tsv'] as const;
export type InputFormat = (typeof inputFormats)[number];

const BY_ENDING: Readonly<Record<string, InputFormat>> = {
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
  '.json': 'jsonl',
  '.csv': 'csv',
  '.tsv': 'tsv',
};

/** By the ending of the file's name; text for others. */
export function formatOfFile(path: string): InputFormat {
  return BY_ENDING[extname(path).toLowerCase()] ?? 'text';
}
