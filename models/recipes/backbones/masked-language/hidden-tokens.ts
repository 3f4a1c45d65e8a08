import type { Random } from '../../../../src/random.js';

/** A token that is to be guessed. */
export interface HiddenToken {
  /** Which of the texts, and which of its tokens. */
  readonly text: number;
  readonly token: number;
  /** What was there. */
  readonly id: number;
}

export interface HidingOptions {
  /** Share of each text's tokens that are to be guessed; at least one is. */
  readonly hiddenShare: number;
  /** Share of those that [MASK] takes the place of; the others are seen as they are. */
  readonly maskedShare: number;
  readonly maskId: number;
  readonly random: Random;
}

/**
 * Hides tokens of each text for masked-language modelling (Devlin et al. 2019, 3.1).
 * @param texts token ids; the first and the last, [CLS] and [SEP], stay.
 */
export function hideTokens(
  texts: readonly Int32Array[],
  { hiddenShare, maskedShare, maskId, random }: HidingOptions,
): { readonly seen: readonly Int32Array[]; readonly hidden: readonly HiddenToken[] } {
  const hidden: HiddenToken[] = [];
  const seen = texts.map((ids, text) => {
    const left = ids.slice();
    const inner = Array.from({ length: ids.length - 2 }, (_, at) => at + 1);
    const count = Math.max(1, Math.round(hiddenShare * inner.length));
    for (const token of random.shuffle(inner).slice(0, count)) {
      hidden.push({ text, token, id: ids[token] ?? maskId });
      if (random.uniform() < maskedShare) left[token] = maskId;
    }
    return left;
  });
  return { seen, hidden };
}
