import * as z from 'zod';

export const OVERLAP_FILE = 'overlap.json';

const fileSchema = z.object({ centre: z.number() });

/** Share of the words of two texts that both have. */
function sharedWords(text: string): number {
  const [first = [], second = []] = text.split('\t').map((half) => half.toLowerCase().split(' '));
  const both = first.filter((word) => second.includes(word)).length;
  return both / new Set([...first, ...second]).size;
}

/** How much more words two texts share than is usual. */
export type Overlap = (text: string) => number;

/** Learns what is usual. */
export function trainOverlap(texts: readonly string[]): { overlap: Overlap; file: Uint8Array } {
  const centre = texts.reduce((sum, text) => sum + sharedWords(text), 0) / texts.length;
  const file = Buffer.from(JSON.stringify({ centre }));
  return { overlap: decodeOverlap(file), file };
}

export function decodeOverlap(bytes: Uint8Array): Overlap {
  const { centre } = fileSchema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  return (text) => sharedWords(text) - centre;
}
