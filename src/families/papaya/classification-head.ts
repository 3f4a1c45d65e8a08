import {
  type BertConfig,
  bertParameters,
  type Dropout,
  type EncoderInputs,
  linearParameters,
  type ParameterSpec,
  type Pooling,
  pooledStates,
  poolerParameters,
} from '../../encoder/index.js';
import type { Graph, Tensor } from '../../graph/index.js';

/** BertForSequenceClassification puts the encoder under this name. */
const ENCODER_PREFIX = 'bert.';
const CLASSIFIER = 'classifier';

/** How a classifier is built on the encoder. */
export interface ClassifierShape {
  readonly outputs: number;
  /** `first`: [CLS] through BERT's pooler, as BertForSequenceClassification has it. `mean`: no pooler. */
  readonly pooling: Pooling;
}

/** The encoder's parameters and the head's, by the names of BertForSequenceClassification. */
export function classifierParameters(config: BertConfig, shape: ClassifierShape): readonly ParameterSpec[] {
  const encoder = bertParameters(config, ENCODER_PREFIX);
  const pooler = shape.pooling === 'first' ? poolerParameters(config, ENCODER_PREFIX) : [];
  const { hidden_size, initializer_range } = config;
  return [
    ...encoder,
    ...pooler,
    ...linearParameters(CLASSIFIER, hidden_size, shape.outputs, initializer_range),
  ];
}

/** Encoder, pooling and a linear layer. @returns logits [batch, outputs]. */
export function classifierLogits(
  graph: Graph,
  config: BertConfig,
  inputs: EncoderInputs,
  { outputs, pooling }: ClassifierShape,
  dropout?: Dropout,
): Tensor {
  const drop = dropout ?? ((x: Tensor) => x);
  const differentiable = dropout !== undefined;
  const pooled = pooledStates(graph, config, inputs, {
    prefix: ENCODER_PREFIX,
    dropout: drop,
    pooling,
    differentiable,
  });
  const vector =
    pooling === 'first' ? graph.tanh(linear(graph, pooled, `${ENCODER_PREFIX}pooler.dense`)) : pooled;
  return linear(graph, drop(vector, config.hidden_dropout_prob), CLASSIFIER, outputs);
}

/** x·Wᵀ + b with a new weight [outputs, inputs]; by default there are as many outputs as inputs. */
function linear(graph: Graph, x: Tensor, name: string, outputs = Number(x.shape.at(-1))): Tensor {
  const weight = graph.parameter(`${name}.weight`, [outputs, Number(x.shape.at(-1))]);
  return graph.gemm(x, weight, { transposeB: true }, graph.parameter(`${name}.bias`, [outputs]));
}
