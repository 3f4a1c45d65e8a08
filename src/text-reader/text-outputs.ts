import type { Encoding } from '../tokenizer/index.js';
import type { TextWindow } from './text-reader.js';

/** A model's outputs for one text, window by window; there is one window unless the text is long. */
export type TextOutputs = readonly WindowOutputs[];

export interface WindowOutputs {
  readonly encoding: Encoding;
  /** [outputs], or [tokens, outputs] where the head answers for each token. */
  readonly outputs: Float32Array;
}

/**
 * Groups the outputs of windows by text.
 * @param texts number of texts.
 * @param outputsOf gives the outputs of a window.
 */
export function outputsByText(
  texts: number,
  windows: readonly TextWindow[],
  outputsOf: (window: TextWindow) => Float32Array,
): TextOutputs[] {
  const byText = Array.from({ length: texts }, (): WindowOutputs[] => []);
  for (const window of windows) {
    byText[window.row]?.push({ encoding: window.encoding, outputs: outputsOf(window) });
  }
  return byText;
}
