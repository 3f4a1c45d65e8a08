import type { Graph, Tensor } from '../graph/index.js';
import type { Dropout, EncoderInputs } from './encoder-builder.js';
import type { ParameterSpec } from './parameter.js';

/** What others than its architecture need to know of an encoder. */
export interface EncoderTraits {
  /** Rows of its table of words: token ids are below it. */
  readonly vocabularySize: number;
  /** Numbers of a hidden state. */
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  /** Numbers between the two linear layers of a feed-forward block. */
  readonly innerWidth: number;
  /** Most tokens that it reads at once, special ones included. */
  readonly maxTokens: number;
  /** Token types that it tells apart; 0 where it reads none. */
  readonly tokenTypes: number;
  /** Id of the token that fills rows up. */
  readonly padId: number;
  /** Row of the first token in the table of positions: RoBERTa counts from the padding token's id + 1. */
  readonly firstPosition: number;
  /** Standard deviation of new weights. */
  readonly initializerRange: number;
  /** Probability of dropout before a linear layer that reads one vector per text. */
  readonly headDropout: number;
}

interface StatesOptions {
  /** In front of every parameter's name: {@link Encoder.prefix} under a head, empty for a bare encoder. */
  readonly prefix: string;
  /** Applied wherever the architecture has dropout. Default: none. */
  readonly dropout?: Dropout;
  /**
   * `first`: only the hidden state of the first token, which is all that a classifier of the first token reads.
   * Only for inference, as the shortcut has no gradient. Default `all`.
   */
  readonly states?: 'all' | 'first';
}

/** One encoder: an architecture with the numbers of a config.json. Nothing outside of it knows which it is. */
export interface Encoder extends EncoderTraits {
  /** Its architecture, for messages: `BERT`. */
  readonly architecture: string;
  /** As config.json names it: `bert`, `xlm-roberta`. */
  readonly modelType: string;
  /** The fields of config.json that decide what it computes, by their names there, `model_type` among them. */
  readonly config: JsonObject;
  /** What every parameter's name has in front of it under a head, as `bert.`. */
  readonly prefix: string;
  /** The class of transformers that computes it without a head: `BertModel`. */
  readonly className: string;
  /** transformers' own head over the first token's state, as in `BertForSequenceClassification`. */
  readonly textHead: EncoderHead;
  /** transformers' own head over every token's state, as in `BertForTokenClassification`. */
  readonly tokenHead: EncoderHead;
  /** Its parameters under transformers' names, each after `prefix`. */
  parameters(prefix: string): readonly ParameterSpec[];
  /**
   * Adds the encoder and its parameters to a graph.
   * @returns the last hidden states, [tokens*batch, width], token by token; with `states: 'first'`, those of
   *   the first tokens, [batch, width].
   */
  states(graph: Graph, inputs: EncoderInputs, options: StatesOptions): Tensor;
}

/** A head as transformers has it: perhaps some layers, then a linear one to the outputs. */
export interface EncoderHead {
  /** The class of transformers that has it. */
  readonly className: string;
  /** Its layers before the last, which a checkpoint may have; by their full names. */
  readonly inner: readonly ParameterSpec[];
  /** All of its parameters, by their full names. */
  parameters(outputs: number): readonly ParameterSpec[];
  /** Adds the head to a graph. Shapes: x [rows, width] → [rows, outputs]. @param dropout Default: none. */
  logits(graph: Graph, x: Tensor, outputs: number, dropout?: Dropout): Tensor;
}

/** How hidden states become one vector per text: that of the [CLS] token, the first, or the mean over all tokens. */
export type Pooling = 'first' | 'mean';

/**
 * One vector per text from the encoder: [batch, width].
 * @param differentiable false on export: the last layer then computes only what pooling reads.
 */
export function pooledStates(
  graph: Graph,
  encoder: Encoder,
  inputs: EncoderInputs,
  { pooling, differentiable, ...options }: StatesOptions & { pooling: Pooling; differentiable: boolean },
): Tensor {
  if (pooling === 'first' && !differentiable) {
    return encoder.states(graph, inputs, { ...options, states: 'first' });
  }
  const states = encoder.states(graph, inputs, options);
  const byToken = graph.reshape(states, ['tokens', 'batch', encoder.width]);
  const weights = pooling === 'first' ? inputs.firstToken() : inputs.tokenShare();
  return graph.reduceSum(graph.multiply(byToken, weights), [0]);
}

export type JsonObject = Readonly<Record<string, unknown>>;
