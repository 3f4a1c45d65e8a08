import type { Steps } from '../pauses.js';
import type { TfIdf } from './tf-idf.js';

/**
 * Texts with and without the term that are added to the counts of each label, so that no ratio is 0 or
 * infinite.
 */
const SMOOTHING = 1;

/**
 * The weight of each feature: √(idf · the largest |ln(p / q)| of any label), where p is the share of the
 * label's texts that have the feature, and q the share of the other texts. Wang & Manning 2012, "Baselines
 * and bigrams", weight by the ratio alone; the two together, each by its root, did best on dev
 * (docs/lexical.md).
 * @param active for each text, the outputs that should be on.
 */
export function* termWeights(
  tfIdf: TfIdf,
  texts: readonly string[],
  active: readonly (readonly number[])[],
  outputs: number,
): Steps<Float32Array> {
  const inAll = new Float64Array(tfIdf.size);
  // Counts of rows are whole numbers far below 2²⁴, which float32 has exactly.
  const inLabel = Array.from({ length: outputs }, () => new Float32Array(tfIdf.size));
  for (const [row, text] of texts.entries()) {
    yield;
    const counts = [inAll, ...(active[row] ?? []).flatMap((output) => inLabel[output] ?? [])];
    for (const id of tfIdf.vector(text).ids) for (const count of counts) count[id] = (count[id] ?? 0) + 1;
  }
  const odds = new Float64Array(tfIdf.size);
  for (const [output, count] of inLabel.entries()) {
    yield;
    const rows = active.filter((ids) => ids.includes(output)).length;
    for (let id = 0; id < odds.length; id += 1) {
      const within = ((count[id] ?? 0) + SMOOTHING) / (rows + 2 * SMOOTHING);
      const elsewhere = (inAll[id] ?? 0) - (count[id] ?? 0) + SMOOTHING;
      const outside = elsewhere / (texts.length - rows + 2 * SMOOTHING);
      odds[id] = Math.max(odds[id] ?? 0, Math.abs(Math.log(within / outside)));
    }
  }
  return tfIdf.weights.map((idf, id) => Math.sqrt(idf * (odds[id] ?? 0)));
}
