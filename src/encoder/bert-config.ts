import * as z from 'zod';
import type { ModelSize } from '../contract/index.js';
import { ModelFolderError } from '../errors.js';

/** Numbers of a hidden state; the widest BERT has 1,024. */
const MAX_WIDTH = 65_536;

/** A size is known before its weights are: none is so large that lists of that length take up memory. */
const size = (most: number) => z.int().positive().max(most);

/**
 * The fields of a Hugging Face BERT config.json that decide what the encoder computes, by their names there.
 */
const bertConfigSchema = z.object({
  model_type: z.literal('bert'),
  vocab_size: size(2 ** 24),
  hidden_size: size(MAX_WIDTH),
  num_hidden_layers: size(1024),
  num_attention_heads: size(MAX_WIDTH),
  intermediate_size: size(16 * MAX_WIDTH),
  hidden_act: z.literal('gelu').default('gelu'),
  hidden_dropout_prob: z.number().min(0).max(1).default(0.1),
  attention_probs_dropout_prob: z.number().min(0).max(1).default(0.1),
  max_position_embeddings: size(2 ** 20).default(512),
  type_vocab_size: size(256).default(2),
  initializer_range: z.number().positive().default(0.02),
  layer_norm_eps: z.number().positive().default(1e-12),
  pad_token_id: z
    .int()
    .nonnegative()
    .max(2 ** 24)
    .default(0),
  position_embedding_type: z.literal('absolute').default('absolute'),
});
export type BertConfig = z.infer<typeof bertConfigSchema>;

interface Geometry {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
}

/**
 * mini is BERT-mini's geometry (Turc et al. 2019). base is as wide and deep as MiniLM-L6 (Wang et al. 2020),
 * with heads as wide as mini's, so that a base model can be grown from a mini one.
 */
const geometries: Readonly<Record<ModelSize, Geometry>> = {
  mini: { layers: 4, hidden: 256, heads: 4 },
  base: { layers: 6, hidden: 384, heads: 6 },
};

/** The configuration of a new encoder of a given size. */
export function bertConfigOfSize(size: ModelSize, vocabularySize: number): BertConfig {
  const { layers, hidden, heads } = geometries[size];
  return bertConfigSchema.parse({
    model_type: 'bert',
    vocab_size: vocabularySize,
    hidden_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    intermediate_size: 4 * hidden,
  });
}

/**
 * Reads the encoder's part of a config.json.
 * @throws ModelFolderError if such an encoder can't be run here.
 */
export function parseBertConfig(json: unknown, file: string): BertConfig {
  const parsed = bertConfigSchema.safeParse(json);
  if (!parsed.success) {
    const reasons = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new ModelFolderError(file, `not a BERT encoder that can be run here (${reasons.join('; ')})`);
  }
  const { hidden_size, num_attention_heads } = parsed.data;
  if (hidden_size % num_attention_heads !== 0) {
    const reason = `hidden_size ${hidden_size} is not a multiple of num_attention_heads ${num_attention_heads}`;
    throw new ModelFolderError(file, reason);
  }
  return parsed.data;
}
