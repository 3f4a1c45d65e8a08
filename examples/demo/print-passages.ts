import type { InferenceResult } from 'orchard-nlp';
import pc from 'picocolors';

/** Passages shown. */
const SHOWN = 3;
/** Columns if the terminal has no width. */
const WIDTH = 100;
const INDENT = 10;

/** The best passages with their scores; the first one whole. */
export function printPassages(_query: string, { labels, scores }: InferenceResult): void {
  const width = (process.stdout.columns ?? WIDTH) - INDENT;
  for (const [rank, passage] of labels.slice(0, SHOWN).entries()) {
    const score = `  ${(100 * (scores[rank] ?? 0)).toFixed(1).padStart(5)} %`.padEnd(INDENT);
    if (rank === 0) console.log(pc.green(score) + wrap(passage, width).join(`\n${' '.repeat(INDENT)}`));
    else console.log(pc.dim(score + (wrap(passage, width - 2)[0] ?? '') + (passage.length > width ? ' …' : '')));
  }
}

/** Lines of whole words, each at most `width` long unless a word is longer. */
function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? '';
    if (line === '') lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
