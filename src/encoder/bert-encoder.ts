import type { Dimension, Graph, Shape, Tensor } from '../graph/index.js';
import type { BertConfig } from './bert-config.js';
import { bertParameters } from './bert-parameters.js';
import type { EncoderInputs, GraphForm } from './encoder-inputs.js';

/** Applies dropout to a tensor. */
export type Dropout = (x: Tensor, probability: number) => Tensor;

export interface EncoderOptions {
  /** Prefix of every parameter's name: `bert.` under a head, empty for a bare BertModel. */
  readonly prefix: string;
  /** Applied wherever BERT has dropout. Default: none. */
  readonly dropout?: Dropout;
  /**
   * `first`: the last layer computes only the hidden state of the [CLS] token, which is all that a classifier
   * reads. Only for inference, as the shortcut has no gradient. Default `all`.
   */
  readonly states?: 'all' | 'first';
}

/**
 * BERT's encoder (Devlin et al. 2019) exactly as Hugging Face's BertModel computes it: post-LayerNorm, token
 * types, GELU by the error function. Adds its parameters to the graph.
 * @returns the last hidden states, [tokens*batch, hidden], token by token; with `states: 'first'`, those of
 *   the [CLS] tokens, [batch, hidden].
 */
export function bertEncoder(
  graph: Graph,
  config: BertConfig,
  inputs: EncoderInputs,
  { prefix, dropout = (x) => x, states = 'all' }: EncoderOptions,
): Tensor {
  const parameters = new Map(
    bertParameters(config, prefix).map(({ name, shape }) => [name, graph.parameter(name, shape)]),
  );
  const scope = new Scope(graph, config, inputs.form, parameters, dropout);
  let hidden = embed(scope, inputs, `${prefix}embeddings`);
  for (let layer = 0; layer < config.num_hidden_layers; layer += 1) {
    const last = layer === config.num_hidden_layers - 1;
    const name = `${prefix}encoder.layer.${layer}`;
    hidden = encoderLayer(scope, hidden, inputs.attentionBias, name, last ? states : 'all');
  }
  return hidden;
}

/** The graph under construction, with the encoder's parameters by name. */
class Scope {
  readonly #parameters: ReadonlyMap<string, Tensor>;

  constructor(
    readonly graph: Graph,
    readonly config: BertConfig,
    readonly form: GraphForm,
    parameters: ReadonlyMap<string, Tensor>,
    readonly dropout: Dropout,
  ) {
    this.#parameters = parameters;
  }

  parameter(name: string): Tensor {
    const parameter = this.#parameters.get(name);
    if (parameter === undefined) throw new Error(`the encoder has no parameter ${name}`);
    return parameter;
  }

  /** factor·(x·Wᵀ + b) for a layer whose input was divided by `inputFactor`. */
  linear(x: Tensor, name: string, { factor = 1, inputFactor = 1 } = {}): Tensor {
    const attributes = { transposeB: true, alpha: factor * inputFactor, beta: factor };
    return this.graph.gemm(x, this.parameter(`${name}.weight`), attributes, this.parameter(`${name}.bias`));
  }

  layerNorm(x: Tensor, name: string): Tensor {
    const gamma = this.parameter(`${name}.weight`);
    return this.graph.layerNorm(x, gamma, this.parameter(`${name}.bias`), this.config.layer_norm_eps);
  }

  dropHidden(x: Tensor): Tensor {
    return this.dropout(x, this.config.hidden_dropout_prob);
  }
}

function embed(scope: Scope, inputs: EncoderInputs, name: string): Tensor {
  const { graph } = scope;
  const words = graph.gather(scope.parameter(`${name}.word_embeddings.weight`), inputs.ids);
  const types = graph.gather(scope.parameter(`${name}.token_type_embeddings.weight`), inputs.tokenTypes);
  const positions = inputs.positionRows(scope.parameter(`${name}.position_embeddings.weight`));
  const sum = graph.add(graph.add(words, types), positions);
  return scope.dropHidden(scope.layerNorm(graph.flattenRows(sum), `${name}.LayerNorm`));
}

function encoderLayer(
  scope: Scope,
  hidden: Tensor,
  bias: Tensor,
  name: string,
  states: 'all' | 'first',
): Tensor {
  const asked = states === 'all' ? hidden : firstTokens(scope, hidden);
  const context = attention(scope, asked, hidden, bias, `${name}.attention.self`);
  const projected = scope.dropHidden(scope.linear(context, `${name}.attention.output.dense`));
  const attended = scope.layerNorm(scope.graph.add(projected, asked), `${name}.attention.output.LayerNorm`);
  const transformed = scope.dropHidden(feedForward(scope, attended, name));
  return scope.layerNorm(scope.graph.add(transformed, attended), `${name}.output.LayerNorm`);
}

/**
 * Hidden states of the [CLS] token, the first of every sequence: [tokens*batch, hidden] → [batch, hidden].
 */
function firstTokens({ graph, config }: Scope, hidden: Tensor): Tensor {
  const byToken = graph.reshape(hidden, ['tokens', 'batch', config.hidden_size]);
  return graph.gather(byToken, graph.constant([0], [], 'int64'));
}

/**
 * Scaled dot-product attention with `heads` heads (Vaswani et al. 2017): the tokens `asked` attend to all
 * tokens. Operands stay tokens first ([tokens, batch, heads, width]); scores are [batch, heads, asked,
 * tokens].
 */
function attention(scope: Scope, asked: Tensor, hidden: Tensor, bias: Tensor, name: string): Tensor {
  const { graph, config } = scope;
  const heads = config.num_attention_heads;
  const width = config.hidden_size / heads;
  const askedTokens: Dimension = asked === hidden ? 'tokens' : 1;
  const split = (x: Tensor, tokens: Dimension): Tensor => graph.reshape(x, [tokens, 'batch', heads, width]);
  const query = split(scope.linear(asked, `${name}.query`), askedTokens);
  const key = split(scope.linear(hidden, `${name}.key`), 'tokens');
  const value = split(scope.linear(hidden, `${name}.value`), 'tokens');
  const scores = graph.batchMatMul(query, key, {
    rowsFirstA: true,
    rowsFirstB: true,
    transposeB: true,
    alpha: 1 / Math.sqrt(width),
  });
  const weights = graph.softmax(graph.add(scores, bias));
  const dropped = scope.dropout(weights, config.attention_probs_dropout_prob);
  const context = graph.batchMatMul(dropped, value, { rowsFirstB: true });
  const rows: Shape = [askedTokens === 1 ? 'batch' : 'tokens*batch', config.hidden_size];
  return graph.reshape(graph.transpose(context, [2, 0, 1, 3]), rows);
}

/**
 * W₂·GELU(W₁x + b₁) + b₂; where gradients are needed, with the factors of {@link Graph.gaussianGate} folded into
 * the two layers.
 */
function feedForward(scope: Scope, x: Tensor, name: string): Tensor {
  if (scope.form === 'inference') {
    return scope.linear(
      scope.graph.gelu(scope.linear(x, `${name}.intermediate.dense`)),
      `${name}.output.dense`,
    );
  }
  const inner = scope.linear(x, `${name}.intermediate.dense`, { factor: Math.SQRT1_2 });
  return scope.linear(scope.graph.gaussianGate(inner), `${name}.output.dense`, { inputFactor: Math.SQRT2 });
}
