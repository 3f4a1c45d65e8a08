import type { TextOutputs } from '../text-reader/index.js';

/** The outputs of texts that were read in one window each, in one array. [texts, outputs] */
export function flatOutputs(texts: readonly TextOutputs[]): Float32Array {
  const width = texts[0]?.[0]?.outputs.length ?? 0;
  const flat = new Float32Array(texts.length * width);
  for (const [row, [window]] of texts.entries()) if (window) flat.set(window.outputs, row * width);
  return flat;
}
