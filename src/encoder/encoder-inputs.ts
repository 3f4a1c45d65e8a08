import { type Graph, ShapeError, type Tensor } from '../graph/index.js';

/**
 * The encoder's inputs. Sequences are laid out tokens first, [tokens, batch]: attention then reads its
 * operands in place, and the [CLS] tokens of a batch lie side by side.
 */
export interface EncoderInputs {
  /** Token ids [tokens, batch]. */
  readonly ids: Tensor;
  /** Token types (segment ids), [tokens, batch]. */
  readonly tokenTypes: Tensor;
  /** 0, 1, … for each position, [tokens, 1]. */
  readonly positions: Tensor;
  /** 0 where a token may be attended to and a large negative number on padding, [batch, 1, 1, tokens]. */
  readonly attentionBias: Tensor;
  /** 1 on the [CLS] token, which comes first, and 0 elsewhere, [tokens, 1, 1]. */
  firstToken(): Tensor;
  /** 1 / (number of tokens) on every token that isn't padding and 0 elsewhere, [tokens, batch, 1]. */
  tokenShare(): Tensor;
}

/** Added to the attention scores of padding; e to this power is exactly 0 in float32. */
export const PADDING_BIAS = -1e9;

/** Inputs as the training loop feeds them: int32 and in the layout that the encoder works in. */
export function trainingInputs(graph: Graph): EncoderInputs {
  return {
    ids: graph.input('ids', 'int32', ['tokens', 'batch']),
    tokenTypes: graph.input('token_types', 'int32', ['tokens', 'batch']),
    positions: graph.input('positions', 'int32', ['tokens', 1]),
    attentionBias: graph.input('attention_bias', 'float32', ['batch', 1, 1, 'tokens']),
    firstToken: () => graph.input('first_token', 'float32', ['tokens', 1, 1]),
    tokenShare: () => graph.input('token_share', 'float32', ['tokens', 'batch', 1]),
  };
}

/**
 * Inputs as Hugging Face names and shapes them, int64 [batch, tokens], for graphs that other libraries load,
 * too.
 */
export function exportedInputs(graph: Graph): EncoderInputs {
  const shape = ['batch', 'tokens'];
  const ids = graph.transpose(graph.input('input_ids', 'int64', shape), [1, 0]);
  const mask = graph.cast(graph.input('attention_mask', 'int64', shape), 'float32');
  const tokenTypes = graph.transpose(graph.input('token_type_ids', 'int64', shape), [1, 0]);
  const bias = graph.scale(graph.subtract(graph.constant([1], []), mask), PADDING_BIAS);
  return {
    ids,
    tokenTypes,
    positions: graph.reshape(graph.rowNumbers(ids), ['tokens', 1]),
    attentionBias: graph.reshape(bias, ['batch', 1, 1, 'tokens']),
    firstToken() {
      throw new ShapeError('an exported graph reads the first token by `states: first`');
    },
    tokenShare() {
      const share = graph.divide(mask, graph.reduceSum(mask, [1], true));
      return graph.reshape(graph.transpose(share, [1, 0]), ['tokens', 'batch', 1]);
    },
  };
}
