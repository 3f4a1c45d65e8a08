import { type Graph, ShapeError, type Tensor } from '../graph/index.js';
import type { ParameterSpec } from './parameter.js';

/** Operations with cheap gradients, or those that are fastest alone. Results differ by rounding only. */
export type GraphForm = 'differentiable' | 'inference';

/** Laid out [tokens, batch]: attention reads in place. A method adds its input to the graph when first called. */
export interface EncoderInputs {
  readonly form: GraphForm;
  readonly adapt?: LinearAdapter;
  /** [tokens, batch]. */
  readonly ids: Tensor;
  /** 0 where a token may be attended to and negative on padding, [batch, 1, 1, tokens]. */
  readonly attentionBias: Tensor;
  readonly maskedBias: number;
  /** [types, width] → [tokens, batch, width]; an exported table of one row needs no input: [1, 1, width]. */
  typeRows(table: Tensor): Tensor;
  /** Ascending integers, [tokens]; in training from the encoder's first position. */
  positions(): Tensor;
  /** Integers from −n to n − 1, n being the number of tokens, [2*tokens]. */
  distances(): Tensor;
  /** [positions, width] → [tokens, 1, width]. @param first the encoder's `firstPosition`. */
  positionRows(table: Tensor, first: number): Tensor;
  /** 1 on the [CLS] token, which comes first, and 0 elsewhere, [tokens, 1, 1]. */
  firstToken(): Tensor;
  /** 1 / (number of tokens) on every token that isn't padding and 0 elsewhere, [tokens, batch, 1]. */
  tokenShare(): Tensor;
}

/** e to this power is below 1e-38. */
export const PADDING_BIAS = -1e9;

/** Leaves padding at most e⁻⁴⁹ of the attention; one farther from 0 slows the softmax by an eighth (subnormals). */
const EXPORTED_PADDING_BIAS = -64;

function once<T>(compute: () => T): () => T {
  let computed: { readonly value: T } | undefined;
  return () => {
    computed ??= { value: compute() };
    return computed.value;
  };
}

/** int32, in the layout that the encoder works in. */
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

/** Names and shapes are those of Hugging Face, int64 [batch, tokens]. */
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

export type Dropout = (x: Tensor, probability: number) => Tensor;

export const NO_DROPOUT: Dropout = (x) => x;

interface BuilderOptions {
  /** In front of every parameter's name. */
  readonly prefix: string;
  readonly form: GraphForm;
  readonly dropout: Dropout;
  readonly adapt?: LinearAdapter;
}

/** A graph under construction with the parameters of an encoder or a head, by their names without the prefix. */
export class EncoderBuilder {
  readonly form: GraphForm;
  readonly dropout: Dropout;
  readonly #adapt: LinearAdapter | undefined;
  readonly #parameters: ReadonlyMap<string, Tensor>;

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

  /** factor·(x·Wᵀ + b) for an x that was divided by `inputFactor`. Shapes: x [rows, inputs] → [rows, outputs]. */
  linear(x: Tensor, name: string, { factor = 1, inputFactor = 1 } = {}): Tensor {
    const attributes = { transposeB: true, alpha: factor * inputFactor, beta: factor };
    const weight = this.parameter(`${name}.weight`);
    const y = this.graph.gemm(x, weight, attributes, this.#parameters.get(`${name}.bias`));
    return this.#adapt?.(this.graph, { weight, x, y, factor: attributes.alpha }, this.dropout) ?? y;
  }

  /** Shapes: x [rows, width]. */
  layerNorm(x: Tensor, name: string, epsilon: number): Tensor {
    const gamma = this.parameter(`${name}.weight`);
    const beta = this.#parameters.get(`${name}.bias`) ?? this.#zeros(Number(gamma.shape[0]));
    return this.graph.layerNorm(x, gamma, beta, epsilon);
  }

  /** [tokens*batch, width] → [batch, width]. */
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

/** y = factor·x·Wᵀ + b. */
interface LinearLayer {
  /** An encoder may use one parameter several times. */
  readonly weight: Tensor;
  /** [rows, inputs] */
  readonly x: Tensor;
  /** [rows, outputs] */
  readonly y: Tensor;
  readonly factor: number;
}

/** @returns [rows, outputs] in place of the layer's output; y itself where it stays. */
export type LinearAdapter = (graph: Graph, layer: LinearLayer, dropout: Dropout) => Tensor;
