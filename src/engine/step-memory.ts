import type { BertConfig, ParameterSpec } from '../encoder/index.js';
import { resolveShape, type Tensor, volume } from '../graph/index.js';
import { Arena } from '../kernels/index.js';
import { ParameterStore } from './parameter-store.js';
import type { TrainingGraph } from './training-graph.js';

/** Padded tokens that one run may hold; larger batches are split and their gradients summed. */
const MAX_TOKENS_PER_RUN = 4096;
/** Attention weights (over all layers and heads) that one run may hold: 128 MiB of float32. */
const MAX_ATTENTION_PER_RUN = 2 ** 25;

/** How many sequences of this length one run may take: bounded by tokens and, for long ones, by attention. */
export function rowsPerRun(encoder: BertConfig, tokens: number): number {
  const attention = tokens ** 2 * encoder.num_attention_heads * encoder.num_hidden_layers;
  return Math.max(1, Math.floor(Math.min(MAX_TOKENS_PER_RUN / tokens, MAX_ATTENTION_PER_RUN / attention)));
}

/** What a training step keeps in memory beside the parameters, in floats, at its largest. */
export interface StepMemory {
  readonly arenaBytes: number;
  /** Floats for each tensor made or read outside the graph (dropout masks, row gradients) by its name. */
  readonly buffers: ReadonlyMap<string, number>;
  /** Most tokens, padding included, of any run. */
  readonly maxTokens: number;
  /** Whether some batches must be split. */
  readonly accumulate: boolean;
}

export interface BatchBounds {
  /** The most sequences of a batch, and the most tokens of a sequence. */
  readonly batchSize: number;
  readonly longest: number;
  /** Whether batches are split even where they would fit in one run. Default false. */
  readonly split?: boolean;
}

/** Plans for every batch within the bounds. @param slots of the optimizer. */
export function planStepMemory(
  { dropouts, rowOutputs }: TrainingGraph,
  encoder: BertConfig,
  parameters: readonly ParameterSpec[],
  slots: readonly string[],
  { batchSize, longest, split = false }: BatchBounds,
): StepMemory {
  const tensors: Tensor[] = [...dropouts.map(({ mask }) => mask), ...rowOutputs.values()];
  const buffers = new Map(tensors.map(({ name }) => [name, 0]));
  let maxTokens = 0;
  let accumulate = split;
  for (let tokens = 1; tokens <= longest; tokens += 1) {
    const batch = Math.min(batchSize, rowsPerRun(encoder, tokens));
    accumulate ||= batch < batchSize;
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
