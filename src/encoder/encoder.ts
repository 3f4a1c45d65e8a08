import type { Graph, Tensor } from '../graph/index.js';
import type { Dropout, EncoderInputs } from './encoder-builder.js';
import type { ParameterSpec } from './parameter.js';

export interface EncoderTraits {
  readonly vocabularySize: number;
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  /** Between the two linear layers of a feed-forward block. */
  readonly innerWidth: number;
  /** Special tokens included. */
  readonly maxTokens: number;
  /** 0 where it reads none. */
  readonly tokenTypes: number;
  /** Id of the token that fills rows up. */
  readonly padId: number;
  /** Row of the first token in the table of positions: RoBERTa counts from the padding token's id + 1. */
  readonly firstPosition: number;
  readonly initializerRange: number;
  /** Before a linear layer that reads one vector per text. */
  readonly headDropout: number;
}

interface StatesOptions {
  /** {@link Encoder.prefix} under a head, empty for a bare encoder. */
  readonly prefix: string;
  readonly dropout?: Dropout;
  /** `first`: only the states of the first tokens, a shortcut without a gradient. Default `all`. */
  readonly states?: 'all' | 'first';
}

export interface Encoder extends EncoderTraits {
  readonly architecture: string;
  /** As config.json names it: `bert`, `xlm-roberta`. */
  readonly modelType: string;
  /** The fields of config.json, `model_type` among them. */
  readonly config: JsonObject;
  /** In front of every parameter's name under a head: `bert.`. */
  readonly prefix: string;
  /** Its class in transformers without a head: `BertModel`. */
  readonly className: string;
  /** Over one state per text, as in `BertForSequenceClassification`. */
  readonly textHead: EncoderHead & {
    /** The state that transformers' class reads. Only ModernBERT's may read the mean. */
    readonly pooling: Pooling;
  };
  /** Over every token's state, as in `BertForTokenClassification`. */
  readonly tokenHead: EncoderHead;
  parameters(prefix: string): readonly ParameterSpec[];
  /** @returns the last hidden states, [tokens*batch, width], token by token; with `states: 'first'`, [batch, width]. */
  states(graph: Graph, inputs: EncoderInputs, options: StatesOptions): Tensor;
}

/** A head as transformers has it: perhaps some layers, then a linear one to the outputs. */
export interface EncoderHead {
  readonly className: string;
  /** Its layers before the last, which a checkpoint may have. */
  readonly inner: readonly ParameterSpec[];
  parameters(outputs: number): readonly ParameterSpec[];
  /** Shapes: x [rows, width] → [rows, outputs]. */
  logits(graph: Graph, x: Tensor, outputs: number, dropout?: Dropout): Tensor;
}

/** The state of the [CLS] token, which comes first, or the mean over all tokens. */
export type Pooling = 'first' | 'mean';

/** [batch, width]. @param differentiable false on export: the last layer then computes only what pooling reads. */
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

/** The states of a bare encoder, [batch, tokens, width]. */
export function tokenStates(graph: Graph, encoder: Encoder, inputs: EncoderInputs): Tensor {
  const states = encoder.states(graph, inputs, { prefix: '' });
  const byToken = graph.reshape(states, ['tokens', 'batch', encoder.width]);
  return graph.transpose(byToken, [1, 0, 2]);
}

export type JsonObject = Readonly<Record<string, unknown>>;
