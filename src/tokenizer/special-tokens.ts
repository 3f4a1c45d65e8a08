/** Finds the special tokens of a vocabulary: pad, unknown, classifier ([CLS]), separator ([SEP]) and mask. */
import { ModelFolderError } from '../errors.js';
import type { SpecialTokenIds } from './tokenizer.js';
import type { SpecialTokenNames } from './tokenizer-json.js';

/** Ids of the special tokens in vocabularies that we train. */
export const TRAINED_SPECIAL_TOKENS = {
  '[PAD]': 0,
  '[UNK]': 1,
  '[CLS]': 2,
  '[SEP]': 3,
  '[MASK]': 4,
} as const;

/** The field of tokenizer_config.json that names each token, and its usual names if the field is absent. */
const ROLES = {
  pad: { field: 'pad_token', names: ['[PAD]', '<pad>'] },
  unknown: { field: 'unk_token', names: ['[UNK]', '<unk>'] },
  classifier: { field: 'cls_token', names: ['[CLS]', '<s>'] },
  separator: { field: 'sep_token', names: ['[SEP]', '</s>'] },
  mask: { field: 'mask_token', names: ['[MASK]', '<mask>'] },
} as const;

/**
 * Looks up the five tokens by the names that `config` gives, else by the usual ones.
 * @throws ModelFolderError unless all exist.
 */
export function findSpecialTokens(
  idOf: (token: string) => number | undefined,
  config: SpecialTokenNames,
): SpecialTokenIds {
  const missing: string[] = [];
  const find = ({ field, names }: (typeof ROLES)[keyof typeof ROLES]): number => {
    const named = config[field];
    const name = typeof named === 'string' ? named : named?.content;
    const candidates = name === undefined ? names : [name];
    const id = candidates.map(idOf).find((found) => found !== undefined);
    if (id === undefined) missing.push(`${field} (${candidates.join(' or ')})`);
    return id ?? 0;
  };
  const ids = {
    pad: find(ROLES.pad),
    unknown: find(ROLES.unknown),
    classifier: find(ROLES.classifier),
    separator: find(ROLES.separator),
    mask: find(ROLES.mask),
  };
  if (missing.length === 0) return ids;
  const reason = `has no entry for ${missing.join(', ')}; name the tokens in tokenizer_config.json`;
  throw new ModelFolderError('tokenizer.json', `its vocabulary ${reason}`);
}
