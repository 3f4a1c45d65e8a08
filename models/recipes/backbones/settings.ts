/** Settings that all backbones share; everything else that a step needs comes from the command line. */

/** Decides the order of the corpus, the initial weights, the batches and what is masked. */
export const SEED = 1;

/** Most tokens of a passage, [CLS] and [SEP] included; the student reads no more at once during training. */
export const MAX_PASSAGE_TOKENS = 64;

/**
 * How co-occurrences of words are counted, and how the counts become vectors (the figures are
 * docs/training.md's).
 */
export const embeddingSettings = {
  /** Weights of neighbours at distance 1, 2, …. */
  distanceWeights: [1, 1, 0.7, 0.5, 0.3],
  /** Context distribution smoothing (Levy et al. 2015), which takes weight from rare contexts. */
  contextExponent: 0.75,
  /**
   * Extra directions that the random projection keeps while it looks for the first ones (Halko et al. 2011).
   */
  oversampling: 30,
  powerIterations: 3,
  /** Standard deviation of all entries. */
  deviation: 0.05,
} as const;

export const learningSettings = {
  /** Texts of a batch, unless `--batch` says otherwise. */
  batchSize: 64,
  /** Rate after the warm-up, kept until the weights are annealed. */
  learningRate: 1e-3,
  warmupSteps: 300,
  maxGradientNorm: 1,
  /** Decay rates of AdamW's moments, and its weight decay. */
  optimizer: { beta1: 0.9, beta2: 0.98, weightDecay: 0.01 },
  /** The first examples of the corpus, which are never trained on and measure how good the student is. */
  validationExamples: 256,
} as const;

export const targetSettings = {
  /** Passages of a shard; no more are lost when the computation is stopped. */
  shardTexts: 4096,
  /** Passages whose means stand for those of all: the first of the corpus, which is in random order. */
  meanTexts: 1024,
  /** Most tokens that a teacher reads at once, padding included. Few, as what stays in the caches is faster. */
  batchTokens: 256,
} as const;
