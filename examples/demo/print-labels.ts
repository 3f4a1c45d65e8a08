import type { InferenceResult } from 'orchard-nlp';
import pc from 'picocolors';

/** Labels shown of a model that has many. */
const SHOWN = 3;
const BAR_WIDTH = 24;

/** The highest labels of a result as bars. */
export function printLabels(_query: string, { labels, scores }: InferenceResult): void {
  for (const [rank, label] of labels.slice(0, SHOWN).entries()) {
    const score = scores[rank] ?? 0;
    const bar = '█'.repeat(Math.round(score * BAR_WIDTH)).padEnd(BAR_WIDTH, '·');
    const line = `  ${label.padEnd(12)} ${bar} ${(100 * score).toFixed(1).padStart(5)} %`;
    console.log(rank === 0 ? pc.green(line) : pc.dim(line));
  }
}
