/** What every tokenizer.json has, with these special tokens as the first ids. */
export function tokenizerFrame(specialTokens: readonly string[]) {
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
  };
}

/** GPT-2's characters for the 256 bytes, printable ones first. */
export const byteCharacters = [
  ...Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)),
  ...Array.from({ length: 12 }, (_, i) => String.fromCharCode(161 + i)),
  ...Array.from({ length: 82 }, (_, i) => String.fromCharCode(174 + i)),
  ...Array.from({ length: 68 }, (_, i) => String.fromCharCode(256 + i)),
];

export function byteLevelStep(use_regex: boolean) {
  return { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex };
}

/** The model of a tokenizer of byte pairs. Pieces have the ids of their places in the list. */
export function bytePairModel(
  unk_token: string,
  pieces: readonly string[],
  merges: readonly (readonly [string, string])[],
) {
  return {
    type: 'BPE',
    dropout: null,
    unk_token,
    continuing_subword_prefix: '',
    end_of_word_suffix: '',
    fuse_unk: false,
    byte_fallback: false,
    vocab: vocabularyOf(pieces),
    merges,
  };
}

export function vocabularyOf(pieces: readonly string[]): Record<string, number> {
  return Object.fromEntries(pieces.map((piece, id) => [piece, id]));
}
