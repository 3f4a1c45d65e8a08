import type { Mistake } from './model-report.js';

/** This file must not import zod: inference threads load it with the decoders. */

export const MAX_MISTAKES = 50;
/** Code points of a text, an entity or a passage. */
export const MAX_MISTAKE_CHARACTERS = 300;

/** The most confident ones, with long texts cut. */
export function listedMistakes(mistakes: readonly Mistake[]): Mistake[] {
  return [...mistakes]
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_MISTAKES)
    .map(({ text, text2, expected, predicted, score }) => ({
      text: cut(text),
      ...(text2 !== undefined && { text2: cut(text2) }),
      expected: expected.map(cut),
      predicted: predicted.map(cut),
      score,
    }));
}

function cut(text: string): string {
  // A character has at most two UTF-16 code units, so the rest of a long text is irrelevant.
  const characters = [...text.slice(0, 2 * MAX_MISTAKE_CHARACTERS + 2)];
  if (characters.length <= MAX_MISTAKE_CHARACTERS) return text;
  return `${characters.slice(0, MAX_MISTAKE_CHARACTERS - 1).join('')}…`;
}
