import { type AdaGradArrays, Arena, type IdBags, type Kernels, loadKernels } from '../../kernels/index.js';
import { paddedOutputs } from '../padded-rows.js';
import { MAX_FEATURES_A_WORD } from './feature-templates.js';
import type { TaggedWords } from './for-each-sentence.js';

/**
 * The initial value of every sum of squared gradients: below 1, so that rare features learn in a few steps,
 * and not 0, with which every first step would be equally large, whatever its gradient.
 */
export const FIRST_SQUARE = 0.1;

/** Features and weights of a training run in one arena, with the kernels over it. */
export interface CrfMemory {
  /** Tags padded to whole vectors: the columns of all tables. */
  readonly width: number;
  /** One bag of feature ids for each word of each sentence. */
  readonly bags: IdBags;
  /** Room for the bags of the longest sentence. */
  readonly keptBags: IdBags;
  /** Weights and squares [features, width]; gradients [words, width] have room for the longest sentence. */
  readonly arrays: AdaGradArrays;
  readonly kernels: Kernels;
}

export function crfMemory(
  sentences: readonly TaggedWords[],
  bags: IdBags,
  features: number,
  tags: number,
): CrfMemory {
  const width = paddedOutputs(tags);
  const longest = sentences.reduce((most, { words }) => Math.max(most, words.length), 0);
  const sizes = {
    ids: bags.ids.length,
    starts: bags.starts.length,
    keptIds: longest * MAX_FEATURES_A_WORD,
    keptStarts: longest + 1,
    table: features * width,
    squares: features * width,
    gradients: longest * width,
  };
  const arena = new Arena(Arena.bytesFor(Object.values(sizes)));
  const ids = arena.int32(sizes.ids);
  ids.set(bags.ids);
  const starts = arena.int32(sizes.starts);
  starts.set(bags.starts);
  return {
    width,
    bags: { ids, starts },
    keptBags: { ids: arena.int32(sizes.keptIds), starts: arena.int32(sizes.keptStarts) },
    arrays: {
      table: arena.float32(sizes.table),
      squares: arena.float32(sizes.squares).fill(FIRST_SQUARE),
      gradients: arena.float32(sizes.gradients),
    },
    kernels: loadKernels(arena),
  };
}
