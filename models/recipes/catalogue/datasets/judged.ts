import type { LabelledText } from '../recipe.js';

/** Texts that all have one label. */
export const judged = (texts: readonly string[], label: string): LabelledText[] =>
  texts.map((text) => ({ text, labels: [label] }));
