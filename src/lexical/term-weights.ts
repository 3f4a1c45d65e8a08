import type { TfIdf } from './tf-idf.js';

/** Texts that a term is taken to have been in, with and without each label, before any was read. */
const SMOOTHING = 1;

/**
 * How much each feature tells: the root of its idf times its largest log-odds over the labels, |ln(p / q)|, where p is the
 * share of a label's texts that have the feature and q that of the others (Wang & Manning 2012, "Baselines and bigrams",
 * weigh by the odds alone; both together, each by its root, did best on dev, see docs/lexical.md).
 * @param active for each text, the outputs that should be on.
 */
export function termWeights(
  tfIdf: TfIdf,
  texts: readonly string[],
  active: readonly (readonly number[])[],
  outputs: number,
): Float32Array {
  const inAll = new Float64Array(tfIdf.size);
  const inLabel = Array.from({ length: outputs }, () => new Float64Array(tfIdf.size));
  for (const [row, text] of texts.entries()) {
    const counts = [inAll, ...(active[row] ?? []).flatMap((output) => inLabel[output] ?? [])];
    for (const id of tfIdf.vector(text).ids) for (const count of counts) count[id] = (count[id] ?? 0) + 1;
  }
  const odds = new Float64Array(tfIdf.size);
  for (const [output, count] of inLabel.entries()) {
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
