import type { Encoding } from '../tokenizer/index.js';
import type { TextWindow } from './text-reader.js';

/** What an encoder makes of one text, window by window; one window unless the text is long. */
export type TextOutputs = readonly WindowOutputs[];

export interface WindowOutputs {
  readonly encoding: Encoding;
  /** [outputs], or [tokens, outputs] where the head answers for each token. */
  readonly outputs: Float32Array;
}

/**
 * Outputs of windows put together text by text.
 * @param texts how many there are. @param outputsOf what was computed for a window.
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
