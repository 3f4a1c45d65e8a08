import type { Random } from '../../../../src/random.js';

/** A token that is to be predicted. */
export interface HiddenToken {
  /** Index of its text, and its own index in the text. */
  readonly text: number;
  readonly token: number;
  /** Its id. */
  readonly id: number;
}

export interface HidingOptions {
  /** Share of each text's tokens that are to be predicted; at least one is. */
  readonly hiddenShare: number;
  /** Share of these that are replaced by [MASK]; the others are seen as they are. */
  readonly maskedShare: number;
  readonly maskId: number;
  readonly random: Random;
}

/**
 * Picks the tokens of masked-language modelling (Devlin et al. 2019, 3.1) in each text.
 * @param texts token ids; the first and the last, [CLS] and [SEP], are never picked.
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
