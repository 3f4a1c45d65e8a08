import type { HeadDefinition } from '../architecture.js';
import { linearParameters } from '../parameter.js';
import { type Activation, activate } from './activation.js';

/** Dropout and a linear layer `classifier` over each state. */
export function plainHead<Config>(dropoutOf: (config: Config) => number): HeadDefinition<Config> {
  return {
    classifier: 'classifier',
    transform: (builder, config, x) => builder.dropout(x, dropoutOf(config)),
  };
}

/** A head's inner layer, as wide as a hidden state. */
export interface InnerLayer {
  readonly width: number;
  /** Standard deviation of new weights. */
  readonly deviation: number;
  /** Probability of dropout. */
  readonly dropout: number;
}

interface InnerHead {
  /** Full names of the inner layer and of the last one. */
  readonly inner: string;
  readonly classifier: string;
  readonly activation: Activation;
  /** Whether what the inner layer reads has dropout, too. */
  readonly dropsInput: boolean;
}

/** A linear layer over the first token's state, an activation, dropout, and the last linear layer. */
export function innerHead<Config>(
  { inner, classifier, activation, dropsInput }: InnerHead,
  layerOf: (config: Config) => InnerLayer,
): HeadDefinition<Config> {
  return {
    classifier,
    inner(config) {
      const { width, deviation } = layerOf(config);
      return linearParameters(inner, width, width, deviation);
    },
    transform(builder, config, x) {
      const { dropout } = layerOf(config);
      const read = dropsInput ? builder.dropout(x, dropout) : x;
      return builder.dropout(activate(builder.graph, activation, builder.linear(read, inner)), dropout);
    },
  };
}

/** RoBERTa's, which most others took over. */
export const robertaHead = {
  inner: 'classifier.dense',
  classifier: 'classifier.out_proj',
  activation: 'tanh',
  dropsInput: true,
} as const satisfies InnerHead;
