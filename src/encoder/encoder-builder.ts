import type { Graph, Tensor } from '../graph/index.js';
import type { GraphForm } from './encoder-inputs.js';
import type { ParameterSpec } from './parameter.js';

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
