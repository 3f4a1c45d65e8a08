import { CONFIG_FILE, TOKENIZER_CONFIG_FILE, TOKENIZER_FILE, WEIGHTS_FILE } from '../models/index.js';

/** The pieces of a tokenizer, one per line, in folders without a tokenizer.json. */
export const VOCABULARY_FILE = 'vocab.txt';

/** The files that are read from a backbone's folder. */
export const BACKBONE_FILES = [
  CONFIG_FILE,
  WEIGHTS_FILE,
  TOKENIZER_FILE,
  TOKENIZER_CONFIG_FILE,
  VOCABULARY_FILE,
] as const;
