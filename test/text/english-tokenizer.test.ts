import { describe, expect, it } from 'vitest';
import { englishTokenizer, loadTokenizer } from '../../src/text/index.js';

describe('the bundled English vocabulary', () => {
  const json = englishTokenizer();
  const tokenizer = loadTokenizer(json);
  const pieceOf = new Map(Object.entries(json.model.vocab).map(([piece, id]) => [id, piece]));
  const pieces = (text: string) => [...tokenizer.encode(text).ids].map((id) => pieceOf.get(id));

  it('begins with the special tokens, and every piece has an id of its own', () => {
    expect([0, 1, 2, 3, 4].map((id) => pieceOf.get(id))).toEqual(['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']);
    expect(pieceOf.size).toBe(16_000);
    expect(tokenizer.specialTokens).toMatchObject({ pad: 0, unknown: 1, mask: 4 });
  });

  it('keeps common words whole and splits rare ones into pieces that it has', () => {
    expect(pieces('The weather is lovely today!')).toEqual([
      '[CLS]',
      'the',
      'weather',
      'is',
      'lovely',
      'today',
      '!',
      '[SEP]',
    ]);
    const rare = pieces('Zyxtropolis');
    expect(rare.length).toBeGreaterThan(3);
    expect(rare).not.toContain('[UNK]');
  });
});
