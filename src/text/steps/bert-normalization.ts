import { fields, flag, nullable, requireShape } from '../../system/index.js';
import type { BertNormalization } from '../word-piece-tokenizer.js';

const bertShape = fields(
  {},
  { clean_text: flag, handle_chinese_chars: flag, strip_accents: nullable(flag), lowercase: flag },
);

/** @throws ModelFolderError for wrong fields. */
export function readBertNormalization(part: unknown, file: string): BertNormalization {
  const {
    clean_text,
    handle_chinese_chars,
    strip_accents,
    lowercase = true,
  } = requireShape(bertShape, part, file, 'normalizer');
  return {
    cleanText: clean_text ?? true,
    handleChineseCharacters: handle_chinese_chars ?? true,
    stripAccents: strip_accents ?? lowercase,
    lowercase,
  };
}
