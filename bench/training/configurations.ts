/** Encoders and batches whose training steps are timed: small to BERT-base. */
export interface Configuration {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly batch: number;
  /** Length of the longest sequence; the others are up to three eighths shorter. */
  readonly tokens: number;
  readonly vocabulary: number;
  /** Steps of one round. */
  readonly steps: number;
}

export const configurations: Readonly<Record<string, Configuration>> = {
  a: { layers: 2, hidden: 128, heads: 2, batch: 32, tokens: 64, vocabulary: 8000, steps: 20 },
  b: { layers: 4, hidden: 256, heads: 4, batch: 32, tokens: 64, vocabulary: 8000, steps: 6 },
  c: { layers: 6, hidden: 384, heads: 6, batch: 32, tokens: 128, vocabulary: 30_522, steps: 3 },
  d: { layers: 12, hidden: 768, heads: 12, batch: 8, tokens: 128, vocabulary: 30_522, steps: 2 },
  // XLM-R base: 278 million weights, of which 192 are words.
  m: { layers: 12, hidden: 768, heads: 12, batch: 8, tokens: 128, vocabulary: 250_002, steps: 2 },
};

/** @throws Error if there is none of this name. */
export function configurationNamed(name: string): Configuration {
  const found = configurations[name];
  if (found !== undefined) return found;
  throw new Error(`no configuration ${name}: there are ${Object.keys(configurations).join(', ')}`);
}

/** The config.json of such an encoder. */
export function configOf({ vocabulary, hidden, layers, heads }: Configuration) {
  return {
    model_type: 'bert',
    vocab_size: vocabulary,
    hidden_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    intermediate_size: 4 * hidden,
    max_position_embeddings: 128,
    hidden_dropout_prob: DROPOUT,
    attention_probs_dropout_prob: DROPOUT,
  };
}

export const DROPOUT = 0.1;
export const CLASSES = 4;

/** Length of each sequence of the batch. */
export function sequenceLengths({ batch, tokens }: Configuration): number[] {
  return Array.from({ length: batch }, (_, row) => tokens - (row % 4) * Math.floor(tokens / 8));
}

/**
 * Floating-point operations of a step's matrix products, padding included: each linear layer runs once
 * forward and twice backward over every token, and so do the two products of attention.
 */
export function matrixFlops({ layers, hidden, batch, tokens }: Configuration): number {
  const linear = 6 * layers * 12 * hidden ** 2 * batch * tokens;
  const attention = 12 * layers * batch * tokens ** 2 * hidden;
  return linear + attention;
}
