import { type Graph, ShapeError, type Tensor } from '../graph/index.js';
import type { LinearAdapter } from './encoder-builder.js';

/**
 * What a graph is for: `differentiable` takes the operations whose gradients are cheap, `inference` those that
 * are fastest on their own. Results differ by rounding alone.
 */
export type GraphForm = 'differentiable' | 'inference';

/**
 * The encoder's inputs. Sequences are laid out tokens first, [tokens, batch]: attention then reads its
 * operands in place, and the [CLS] tokens of a batch lie side by side. Methods add an input to the graph the first
 * time that they are called, so that a graph has those that its encoder reads.
 */
export interface EncoderInputs {
  readonly form: GraphForm;
  /** Changes what the encoder's linear layers give. Default: nothing does. */
  readonly adapt?: LinearAdapter;
  /** Token ids [tokens, batch]. */
  readonly ids: Tensor;
  /** 0 where a token may be attended to and a negative number on padding, [batch, 1, 1, tokens]. */
  readonly attentionBias: Tensor;
  /** What is added to the score of a token that may not be attended to. */
  readonly maskedBias: number;
  /**
   * The rows of the tokens' types (segment ids) from their table: [types, width] → [tokens, batch, width]. A table of one
   * row needs no input in an exported graph, as transformers passes none: [1, 1, width].
   */
  typeRows(table: Tensor): Tensor;
  /** Integers that rise by one from token to token, [tokens]; in training from the encoder's first position. */
  positions(): Tensor;
  /** Integers from −n to n − 1, n being the number of tokens, [2*tokens]. */
  distances(): Tensor;
  /**
   * The rows of the tokens' positions from their table: [positions, width] → [tokens, 1, width].
   * @param first that of the first token, the encoder's `firstPosition`.
   */
  positionRows(table: Tensor, first: number): Tensor;
  /** 1 on the [CLS] token, which comes first, and 0 elsewhere, [tokens, 1, 1]. */
  firstToken(): Tensor;
  /** 1 / (number of tokens) on every token that isn't padding and 0 elsewhere, [tokens, batch, 1]. */
  tokenShare(): Tensor;
}

/** Added to the attention scores of padding while training; e to this power is below 1e-38. */
export const PADDING_BIAS = -1e9;

/**
 * The same in exported graphs. It leaves padding a share of e⁻⁶⁴ or 1.6e-28 of the attention where scores are
 * equal, and of e⁻⁴⁹ at the largest lead that padding has in a model of the catalogue, 15: far below float32's
 * rounding, 6e-8. With a larger one, the softmax would compute with numbers too small for float32's normal form,
 * which takes Intel's processors an eighth longer where a third of the tokens is padding.
 */
const EXPORTED_PADDING_BIAS = -64;

/** A function that computes its result the first time. */
function once<T>(compute: () => T): () => T {
  let computed: { readonly value: T } | undefined;
  return () => {
    computed ??= { value: compute() };
    return computed.value;
  };
}

/** Inputs as the training loop feeds them: int32 and in the layout that the encoder works in. */
export function trainingInputs(graph: Graph, form: GraphForm = 'differentiable'): EncoderInputs {
  const ids = graph.input('ids', 'int32', ['tokens', 'batch']);
  const positions = once(() => graph.input('positions', 'int32', ['tokens', 1]));
  const types = once(() => graph.input('token_types', 'int32', ['tokens', 'batch']));
  return {
    form,
    ids,
    attentionBias: graph.input('attention_bias', 'float32', ['batch', 1, 1, 'tokens']),
    maskedBias: PADDING_BIAS,
    positions: once(() => graph.reshape(positions(), ['tokens'])),
    distances: once(() => graph.input('distances', 'int32', ['2*tokens'])),
    typeRows: (table) => graph.gather(table, types()),
    positionRows: (table) => graph.gather(table, positions()),
    firstToken: once(() => graph.input('first_token', 'float32', ['tokens', 1, 1])),
    tokenShare: once(() => graph.input('token_share', 'float32', ['tokens', 'batch', 1])),
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
  const types = once(() => graph.transpose(graph.input('token_type_ids', 'int64', shape), [1, 0]));
  const bias = graph.scale(graph.subtract(graph.constant([1], []), mask), EXPORTED_PADDING_BIAS);
  return {
    form: 'inference',
    ids,
    attentionBias: graph.reshape(bias, ['batch', 1, 1, 'tokens']),
    maskedBias: EXPORTED_PADDING_BIAS,
    typeRows: (table) => graph.gather(table, table.shape[0] === 1 ? graph.constant([0], [1, 1], 'int64') : types()),
    positions: once(() => graph.rowNumbers(ids)),
    distances: once(() => graph.rowDistances(ids)),
    positionRows: (table, first) =>
      graph.reshape(graph.firstRows(table, ids, first), ['tokens', 1, ...table.shape.slice(1)]),
    firstToken() {
      throw new ShapeError('an exported graph reads the first token by `states: first`');
    },
    tokenShare: once(() => {
      const share = graph.divide(mask, graph.reduceSum(mask, [1], true));
      return graph.reshape(graph.transpose(share, [1, 0]), ['tokens', 'batch', 1]);
    }),
  };
}
