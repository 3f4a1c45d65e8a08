import { join } from 'node:path';
import { ModelFolderError } from '../errors.js';
import { CONFIG_FILE, type ModelFolderConfig, TOKENIZER_FILE } from '../model-folder/index.js';
import type { Tokenizer } from '../tokenizer/index.js';

/**
 * Checks that a folder's tokenizer and its settings of reading belong together: that the encoder has a row for each
 * token, and that a window has room for a text and moves on by half of it at least.
 * @throws ModelFolderError
 */
export function checkReading(directory: string, config: ModelFolderConfig, tokenizer: Tokenizer): void {
  const { vocab_size: rows } = config;
  const { max_tokens, window_overlap = 0 } = config.orchard;
  const { vocabularySize, specialTokens } = tokenizer;
  const highest = Math.max(vocabularySize - 1, ...Object.values(specialTokens));
  if (typeof rows === 'number' && highest >= rows) {
    const reason = `it has ids up to ${highest}, but ${CONFIG_FILE} has a vocab_size of ${rows}`;
    throw new ModelFolderError(join(directory, TOKENIZER_FILE), reason);
  }
  const special = tokenizer.encode('').sequenceIds.reduce((count, text) => count + (text === -1 ? 1 : 0), 0);
  const room = max_tokens - special;
  if (room >= 1 && window_overlap <= room / 2) return;
  const reason =
    room < 1
      ? `orchard.max_tokens: ${max_tokens} leave no room for a text beside ${special} special tokens`
      : `orchard.window_overlap: ${window_overlap} of ${room} tokens; at most half of them can be read again`;
  throw new ModelFolderError(join(directory, CONFIG_FILE), reason);
}
