import type { TextOutputs } from '../text/index.js';

/** Probabilities in proportion to e to the power of the logits; they sum to 1. [logits] */
export function softmax(logits: Float32Array | Float64Array): Float64Array {
  let highest = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < logits.length; at += 1) highest = Math.max(highest, logits[at] ?? 0);
  const shares = new Float64Array(logits.length);
  let sum = 0;
  for (let at = 0; at < shares.length; at += 1) {
    const share = Math.exp((logits[at] ?? 0) - highest);
    shares[at] = share;
    sum += share;
  }
  for (let at = 0; at < shares.length; at += 1) shares[at] = (shares[at] ?? 0) / sum;
  return shares;
}

/**
 * How fast the log-odds of one outcome grow with each logit: 1 with its own; with another, less by its share of the
 * rest. [logits]
 */
export function logOddsSlope(logits: Float32Array | Float64Array, own: number): Float64Array {
  const others = softmax(Float64Array.from(logits, (logit, at) => (at === own ? Number.NEGATIVE_INFINITY : logit)));
  return others.map((share, at) => (at === own ? 1 : -share));
}

/** The outputs of texts that were read in one window each, in one array. [texts, outputs] */
export function flatOutputs(texts: readonly TextOutputs[]): Float32Array {
  const width = texts[0]?.[0]?.outputs.length ?? 0;
  const flat = new Float32Array(texts.length * width);
  for (const [row, [window]] of texts.entries()) if (window) flat.set(window.outputs, row * width);
  return flat;
}
