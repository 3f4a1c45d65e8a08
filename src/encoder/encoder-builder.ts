import { type Graph, ShapeError, type Tensor } from '../graph/index.js';
import type { ParameterSpec } from './parameter.js';

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

/** Inputs as Hugging Face names and shapes them, int64 [batch, tokens], for graphs that other libraries load, too. */
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

/** Applies dropout to a tensor. */
export type Dropout = (x: Tensor, probability: number) => Tensor;

export const NO_DROPOUT: Dropout = (x) => x;

interface BuilderOptions {
  /** In front of every parameter's name in the graph. */
  readonly prefix: string;
  readonly form: GraphForm;
  readonly dropout: Dropout;
  /** Changes what the linear layers give. Default: nothing does. */
  readonly adapt?: LinearAdapter;
}

/**
 * A graph under construction with the parameters of an encoder or of a head, by their names without the prefix. What
 * an architecture is built of goes through it.
 */
export class EncoderBuilder {
  readonly form: GraphForm;
  readonly dropout: Dropout;
  readonly #adapt: LinearAdapter | undefined;
  readonly #parameters: ReadonlyMap<string, Tensor>;

  /** Adds the parameters to the graph. */
  constructor(
    readonly graph: Graph,
    parameters: readonly ParameterSpec[],
    { prefix, form, dropout, adapt }: BuilderOptions,
  ) {
    this.form = form;
    this.dropout = dropout;
    this.#adapt = adapt;
    this.#parameters = new Map(parameters.map(({ name, shape }) => [name, graph.parameter(prefix + name, shape)]));
  }

  parameter(name: string): Tensor {
    const parameter = this.#parameters.get(name);
    if (parameter === undefined) throw new Error(`the encoder has no parameter ${name}`);
    return parameter;
  }

  /**
   * factor·(x·Wᵀ + b) for a layer whose input was divided by `inputFactor`; without b where there is none.
   * Shapes: x [rows, inputs] → [rows, outputs].
   */
  linear(x: Tensor, name: string, { factor = 1, inputFactor = 1 } = {}): Tensor {
    const attributes = { transposeB: true, alpha: factor * inputFactor, beta: factor };
    const weight = this.parameter(`${name}.weight`);
    const y = this.graph.gemm(x, weight, attributes, this.#parameters.get(`${name}.bias`));
    return this.#adapt?.(this.graph, { weight, x, y, factor: attributes.alpha }, this.dropout) ?? y;
  }

  /** LayerNorm over the last axis, without β where there is none. Shapes: x [rows, width]. */
  layerNorm(x: Tensor, name: string, epsilon: number): Tensor {
    const gamma = this.parameter(`${name}.weight`);
    const beta = this.#parameters.get(`${name}.bias`) ?? this.#zeros(Number(gamma.shape[0]));
    return this.graph.layerNorm(x, gamma, beta, epsilon);
  }

  /** The hidden states of the first token of every sequence: [tokens*batch, width] → [batch, width]. */
  firstTokens(hidden: Tensor): Tensor {
    const byToken = this.graph.reshape(hidden, ['tokens', 'batch', ...hidden.shape.slice(1)]);
    return this.graph.gather(byToken, this.graph.constant([0], [], 'int64'));
  }

  #zeros(width: number): Tensor {
    return this.graph.constant(
      Array.from({ length: width }, () => 0),
      [width],
    );
  }
}

/** A linear layer of an encoder, y = factor·x·Wᵀ + b, as a graph has it. */
interface LinearLayer {
  /** W, a parameter of the graph; an encoder may use one several times. */
  readonly weight: Tensor;
  /** [rows, inputs] */
  readonly x: Tensor;
  /** [rows, outputs] */
  readonly y: Tensor;
  /** What x·Wᵀ is multiplied by. */
  readonly factor: number;
}

/**
 * Adds to a graph what takes the place of a linear layer's output, such as the sum of it and an adapter's.
 * @returns [rows, outputs]; y itself where the layer stays as it is.
 */
export type LinearAdapter = (graph: Graph, layer: LinearLayer, dropout: Dropout) => Tensor;
