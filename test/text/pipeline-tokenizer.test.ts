import { describe, expect, it } from 'vitest';
import { loadTokenizer } from '../../src/text/index.js';
import { hardTexts } from './generated-texts.js';
import { deletedCharacters, hubTokenizers } from './hub-tokenizers.js';
import { encodeByRust, rustTokenizer, withoutRust } from './rust-tokenizers.js';

/** What people and machines write that tokenizers stumble over. */
const hostile = [
  '',
  ' ',
  '   ',
  ' the cat',
  'the  cats   sat ',
  '\t\n the\r\ncat\u0085\u00a0x',
  'e\u0301te\u0301 été e\u0323\u0301 a\u0308\u0323b',
  'ﬁﬂ ½ ① ＡｂＣ ｶﾞ カ\u3099 ㌀ … ĳ',
  '👨‍👩‍👧 the 👍🏽cat 🇯🇵 ☎️',
  '東京都 日本語 한국어 豈 𠀀',
  'العَرَبِيَّة שָׁלוֹם हिन्दी ไทย',
  'a\u0001b\u0007 \u001b[0m \u007f\u00ad\u200b\u200d\ufeffx',
  'a\u0000b',
  "don't we'll I'M ''quoted'' ``so``",
  'the<s>cat</s> [CLS]the [SEP] <mask> [MASK]the <pad>[PAD] <unk> [UNK]',
  '  <mask>  the   [MASK]  cat',
  '|||IP_ADDRESS||| whole wholes a whole. unwhole',
  `${'a'.repeat(99)} ${'a'.repeat(100)} ${'a'.repeat(101)} ${'☃'.repeat(101)} ${'thecat'.repeat(60)}`,
  '▁the ▁ ▁▁ cat▁',
  'Ġthe Ċ Ã© <0x41>',
  'a\ud83db \udc4d',
  'ΣΑΣ İstanbul ŉ Straße ẞ',
];

/** Each piece of a text with what it stands for. */
function spans(name: string, text: string): (string | undefined)[][] {
  const tokenizer = loadTokenizer(hubTokenizers[name]);
  const { ids, sequenceIds, offsets } = tokenizer.encode(text);
  return [...ids.keys()]
    .filter((token) => sequenceIds[token] === 0)
    .map((token) => [tokenizer.token(ids[token] ?? -1), text.slice(offsets?.[2 * token], offsets?.[2 * token + 1])]);
}

describe('the places of pieces', () => {
  it('include the space before a word, unless the post-processor takes it out', () => {
    expect(spans('ModernBERT', 'the cat')).toEqual([
      ['the', 'the'],
      ['Ġcat', ' cat'],
    ]);
    expect(spans('RoBERTa', 'the cat')).toEqual([
      ['the', 'the'],
      ['Ġcat', 'cat'],
    ]);
    expect(spans('CamemBERT', 'the cat')).toEqual([
      ['▁the', 'the'],
      ['▁cat', ' cat'],
    ]);
  });

  it('are the whole character for each of its bytes', () => {
    const bytes = spans('RoBERTa', 'é👍').map(([, span]) => span);
    expect(bytes).toEqual(['é', '👍', '👍', '👍']);
  });

  it('count no character that the table of characters deletes, also at the beginning', () => {
    expect(spans('XLM-R', '\u0001the \u0007cat')).toEqual([
      ['▁the', 'the'],
      ['▁cat', 'cat'],
    ]);
  });

  it('are one for unknown characters side by side', () => {
    expect(spans('XLM-R', 'the☃☄ cat')).toEqual([
      ['▁the', 'the'],
      ['<unk>', '☃☄'],
      ['▁cat', 'cat'],
    ]);
  });
});

/** Letters and digits of Unicode 17, which a new runtime knows and the Rust package doesn't yet. */
const tooNew =
  /[\u088f\u0c5c\u0cdc\ua7ce\ua7cf\ua7d2\ua7d4\ua7f1\u{10940}-\u{10959}\u{10ec5}-\u{10ec7}\u{11db0}-\u{11de9}\u{16ea0}-\u{16ed3}\u{16ff2}-\u{16ff6}\u{187f8}-\u{187ff}\u{18d09}-\u{18df2}\u{1e6c0}-\u{1e6ff}\u{2b73a}-\u{2b73f}\u{2cea2}-\u{2cead}\u{323b0}-\u{33479}]/u;

/**
 * Where the table of characters deletes the first character, the Rust package gives the places of what follows one
 * character too early.
 */
const misplaced = new RegExp(`(?:^|\\[MASK\\]|\\[CLS\\])[\\s\\p{M}]*[${deletedCharacters}]`, 'u');

describe.skipIf(withoutRust)('the tokenizers of the encoders on the Hub', () => {
  const texts = [...hostile, ...hardTexts(300, 7).filter((text) => !tooNew.test(text))];

  it.each(Object.entries(hubTokenizers))('%s: has the ids and offsets of the Rust package', async (_, json) => {
    const [ours, theirs] = [loadTokenizer(json), rustTokenizer(json)];
    expect(ours.withoutOffsets).toBeUndefined();
    const deletes = JSON.stringify(json).includes('Precompiled');
    for (const text of texts) {
      const { ids, typeIds, offsets } = ours.encode(text);
      const expected = await encodeByRust(theirs, text);
      expect([text, ...ids, ...typeIds]).toEqual([text, ...expected.ids, ...expected.typeIds]);
      if (deletes && misplaced.test(text)) continue;
      expect([text, ...(offsets ?? [])]).toEqual([text, ...expected.offsets]);
    }
  });

  it.each(Object.entries(hubTokenizers))('%s: puts a pair into the template of its file', async (_, json) => {
    const { ids, typeIds, sequenceIds, offsets } = loadTokenizer(json).encode('the cat', { pair: ' été!' });
    const expected = await encodeByRust(rustTokenizer(json), 'the cat', ' été!');
    expect([[...ids], [...typeIds], [...sequenceIds], [...(offsets ?? [])]]).toEqual([
      expected.ids,
      expected.typeIds,
      expected.sequenceIds,
      expected.offsets,
    ]);
  });
});

describe('an added token', () => {
  it('may have any mark of punctuation', () => {
    const content = '<|a-b/c.d*[e]|>';
    const json = { ...hubTokenizers.RoBERTa, added_tokens: [{ id: 9_999, content }] };
    const { ids } = loadTokenizer(json).encode(`the ${content} cat`);
    expect([...ids]).toContain(9_999);
  });
});
