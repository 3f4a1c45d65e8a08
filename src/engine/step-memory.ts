import type { Encoder, ParameterSpec } from '../encoder/index.js';
import { resolveShape, type Tensor, volume } from '../graph/index.js';
import { Arena } from '../kernels/index.js';
import { ParameterStore } from './parameter-store.js';
import type { TrainingGraph } from './training-graph.js';

/** Most tokens of one run, padding included; larger batches are split and their gradients summed. */
const MAX_TOKENS_PER_RUN = 4096;
/** Most attention weights (over all layers and heads) of one run: 128 MiB of float32. */
const MAX_ATTENTION_PER_RUN = 2 ** 25;

/**
 * How many sequences of this length one run may hold: bounded by its tokens and, for long ones, by its
 * attention weights.
 */
export function rowsPerRun(encoder: Encoder, tokens: number): number {
  const attention = tokens ** 2 * encoder.heads * encoder.layers;
  return Math.max(1, Math.floor(Math.min(MAX_TOKENS_PER_RUN / tokens, MAX_ATTENTION_PER_RUN / attention)));
}

/** Memory of the largest training step. */
export interface StepMemory {
  /** Of the whole arena, parameters included. */
  readonly arenaBytes: number;
  /**
   * Floats of each tensor that is written or read outside the graph (dropout masks, sparse gradients), by
   * name.
   */
  readonly buffers: ReadonlyMap<string, number>;
  /** Most tokens, padding included, of any run. */
  readonly maxTokens: number;
  /** Whether some batches must be split. */
  readonly accumulate: boolean;
}

export interface BatchBounds {
  /** Most sequences of a batch. */
  readonly batchSize: number;
  /** Most tokens of a sequence. */
  readonly longest: number;
  /** Whether batches are split even where they would fit in one run. Default false. */
  readonly split?: boolean;
}

/** Whether some batches within the bounds take more than one run. */
export function splitsBatches(encoder: Encoder, { batchSize, longest, split = false }: BatchBounds): boolean {
  const lengths = Array.from({ length: longest }, (_, at) => at + 1);
  return split || lengths.some((tokens) => rowsPerRun(encoder, tokens) < batchSize);
}

/**
 * Plans memory that suffices for every batch within the bounds. @param slots names of the optimizer's slots.
 */
export function planStepMemory(
  { dropouts, rowOutputs }: TrainingGraph,
  encoder: Encoder,
  parameters: readonly ParameterSpec[],
  slots: readonly string[],
  bounds: BatchBounds,
): StepMemory {
  const { batchSize, longest } = bounds;
  const accumulate = splitsBatches(encoder, bounds);
  const tensors: Tensor[] = [...dropouts.map(({ mask }) => mask), ...rowOutputs.values()];
  const buffers = new Map(tensors.map(({ name }) => [name, 0]));
  let maxTokens = 0;
  for (let tokens = 1; tokens <= longest; tokens += 1) {
    const batch = Math.min(batchSize, rowsPerRun(encoder, tokens));
    maxTokens = Math.max(maxTokens, tokens * batch);
    for (const { name, shape } of tensors) {
      const size = volume(resolveShape(shape, { tokens, batch }));
      buffers.set(name, Math.max(buffers.get(name) ?? 0, size));
    }
  }
  const scratch = Arena.bytesFor([...buffers.values(), maxTokens, maxTokens, longest]);
  const arenaBytes = ParameterStore.bytesFor(parameters, { accumulate, slots }) + scratch;
  return { arenaBytes, buffers, maxTokens, accumulate };
}
