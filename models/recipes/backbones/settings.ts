/** The choices that all backbones share; what each step needs beside them comes from the command line. */

/** Decides the corpus' order, the start of the weights, the batches and what is masked. */
export const SEED = 1;

/** The most tokens of a passage, [CLS] and [SEP] included: what the student reads at once while it learns. */
export const MAX_PASSAGE_TOKENS = 64;

/** How words are counted together, and how the counts become vectors (the figures are docs/training.md's). */
export const embeddingSettings = {
  /** What a neighbour at distance 1, 2, … counts. */
  distanceWeights: [1, 1, 0.7, 0.5, 0.3],
  /** Levy et al. 2015: takes weight from rare contexts. */
  contextExponent: 0.75,
  /** Further directions that the random projection keeps while it looks for the first ones (Halko et al. 2011). */
  oversampling: 30,
  powerIterations: 3,
  /** Standard deviation of all entries. */
  deviation: 0.05,
} as const;

export const learningSettings = {
  /** Texts that the student reads at once. */
  batchSize: 64,
  /** Reached after the warm-up and kept until the weights are annealed. */
  learningRate: 1e-3,
  warmupSteps: 300,
  maxGradientNorm: 1,
  /** Decay of AdamW's running means, and its weight decay. */
  optimizer: { beta1: 0.9, beta2: 0.98, weightDecay: 0.01 },
  /** Examples, the first of the corpus, that are never learned from and tell how good the student is. */
  validationExamples: 256,
} as const;

export const distillationSettings = {
  /** Share of the student's tokens behind [MASK]; the teacher has read them all. */
  maskedShare: 0.15,
  /** Share of the loss that sentence vectors have; the spans of words share the rest. */
  sentenceShare: 0.5,
} as const;

export const maskedLanguageSettings = {
  /** Share of each text's tokens that are to be guessed. */
  hiddenShare: 0.2,
  /** Share of those that [MASK] stands for; the student sees the others as they are. */
  maskedShare: 0.85,
  /** Cosines of sentence vectors are divided by it before the softmax. */
  temperature: 0.05,
  /** What the two losses count. */
  weights: { words: 1, neighbours: 1 },
} as const;
