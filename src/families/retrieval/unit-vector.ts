import type { TextOutputs } from '../../text/index.js';

/** The mean of the first `tokens` rows of [at least tokens, width]. */
export function meanOfRows(states: Float32Array, tokens: number, width: number): Float32Array {
  const mean = new Float32Array(width);
  for (let start = 0; start < tokens * width; start += width) {
    for (let at = 0; at < width; at += 1) mean[at] = (mean[at] ?? 0) + (states[start + at] ?? 0) / tokens;
  }
  return mean;
}

/** A vector divided by its Euclidean norm; zeros stay zeros. */
export function unitVector(vector: Float32Array): Float32Array {
  let squares = 0;
  for (let at = 0; at < vector.length; at += 1) squares += (vector[at] ?? 0) ** 2;
  const norm = Math.sqrt(squares);
  return norm === 0 ? vector : vector.map((value) => value / norm);
}

/** Unit vectors of texts that the encoder has pooled already. [texts, width] */
export function unitVectors(texts: readonly TextOutputs[]): Float32Array {
  const width = texts[0]?.[0]?.outputs.length ?? 0;
  const vectors = new Float32Array(texts.length * width);
  for (const [row, [window]] of texts.entries()) {
    if (window) vectors.set(unitVector(window.outputs), row * width);
  }
  return vectors;
}
