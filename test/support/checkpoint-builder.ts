import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeSafetensors, type NamedTensor } from '../../src/models/index.js';
import { trainWordPiece } from '../../src/text/index.js';
import { someNumbers } from './finite-differences.js';

/** Small checkpoints in Hugging Face's layout, as other libraries leave them. */

const HIDDEN = 8;
const INNER = 16;
const POSITIONS = 12;
const LAYERS = 2;

/** Words that the tokenizer has as whole pieces. */
export const KNOWN_WORDS = ['the', 'lamp', 'is', 'great', 'awful', 'works', 'broke', 'and', 'room'];

const tokenizer = trainWordPiece(
  Array.from({ length: 20 }, () => KNOWN_WORDS.join(' ')),
  {
    vocabularySize: 80,
    lowercase: true,
  },
);
export const VOCABULARY = Object.keys(tokenizer.model.vocab).length;

export const bertConfig = {
  architectures: ['BertModel'],
  model_type: 'bert',
  vocab_size: VOCABULARY,
  hidden_size: HIDDEN,
  num_hidden_layers: LAYERS,
  num_attention_heads: 2,
  intermediate_size: INNER,
  hidden_act: 'gelu',
  max_position_embeddings: POSITIONS,
  type_vocab_size: 2,
  layer_norm_eps: 1e-12,
  pad_token_id: 0,
};

/** Shapes of a BertModel's tensors by name, as `BertModel(config).state_dict()` has them. */
const bertShapes: Readonly<Record<string, readonly number[]>> = {
  'embeddings.word_embeddings.weight': [VOCABULARY, HIDDEN],
  'embeddings.position_embeddings.weight': [POSITIONS, HIDDEN],
  'embeddings.token_type_embeddings.weight': [2, HIDDEN],
  'embeddings.LayerNorm.weight': [HIDDEN],
  'embeddings.LayerNorm.bias': [HIDDEN],
  ...Object.fromEntries(
    Array.from({ length: LAYERS }, (_, layer) =>
      Object.entries({
        'attention.self.query.weight': [HIDDEN, HIDDEN],
        'attention.self.query.bias': [HIDDEN],
        'attention.self.key.weight': [HIDDEN, HIDDEN],
        'attention.self.key.bias': [HIDDEN],
        'attention.self.value.weight': [HIDDEN, HIDDEN],
        'attention.self.value.bias': [HIDDEN],
        'attention.output.dense.weight': [HIDDEN, HIDDEN],
        'attention.output.dense.bias': [HIDDEN],
        'attention.output.LayerNorm.weight': [HIDDEN],
        'attention.output.LayerNorm.bias': [HIDDEN],
        'intermediate.dense.weight': [INNER, HIDDEN],
        'intermediate.dense.bias': [INNER],
        'output.dense.weight': [HIDDEN, INNER],
        'output.dense.bias': [HIDDEN],
        'output.LayerNorm.weight': [HIDDEN],
        'output.LayerNorm.bias': [HIDDEN],
      }).map(([name, shape]) => [`encoder.layer.${layer}.${name}`, shape]),
    ).flat(),
  ),
  'pooler.dense.weight': [HIDDEN, HIDDEN],
  'pooler.dense.bias': [HIDDEN],
};

/** The weights of a small BertModel, each number different. */
export const bertTensors: ReadonlyMap<string, NamedTensor> = new Map(
  Object.entries(bertShapes).map(([name, shape], seed) => {
    const count = shape.reduce((product, size) => product * size, 1);
    return [name, { shape, values: someNumbers(count, 0.4, seed + 1) }];
  }),
);

export const tokenizerFiles: Readonly<Record<string, string>> = {
  'tokenizer.json': JSON.stringify(tokenizer),
  'tokenizer_config.json': JSON.stringify({ tokenizer_class: 'BertTokenizer', do_lower_case: true }),
};

/** The same tokenizer as older checkpoints keep it. */
export const vocabularyText = `${Object.keys(tokenizer.model.vocab).join('\n')}\n`;

export interface CheckpointParts {
  readonly config?: unknown;
  readonly tensors?: ReadonlyMap<string, NamedTensor>;
  /** Take the place of those of a sound one; undefined leaves a file out. */
  readonly files?: Readonly<Record<string, string | Uint8Array | undefined>>;
}

/** Writes a sound checkpoint with these changes. @returns the directory */
export function writeCheckpoint(
  directory: string,
  { config = bertConfig, tensors = bertTensors, files = {} }: CheckpointParts = {},
): string {
  mkdirSync(directory, { recursive: true });
  const all: Readonly<Record<string, string | Uint8Array | undefined>> = {
    'config.json': JSON.stringify(config),
    'model.safetensors': encodeSafetensors(tensors),
    ...tokenizerFiles,
    ...files,
  };
  for (const [name, content] of Object.entries(all)) {
    if (content !== undefined) writeFileSync(join(directory, name), content);
  }
  return directory;
}
