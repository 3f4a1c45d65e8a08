import type { HeadDefinition } from '../architecture.js';
import { linearParameters } from '../parameter.js';

/** Dropout and a linear layer `classifier` over each state. */
export function plainHead<Config>(dropoutOf: (config: Config) => number): HeadDefinition<Config> {
  return {
    classifier: 'classifier',
    transform: (builder, config, x) => builder.dropout(x, dropoutOf(config)),
  };
}

/** Widths and dropout of a head's inner layer. */
export interface InnerLayer {
  readonly width: number;
  /** Standard deviation of new weights. */
  readonly deviation: number;
  readonly dropout: number;
}

/** tanh of a linear layer over the first token's state, dropout, and the linear layer `classifier`. */
export function poolerHead<Config>(
  name: string,
  layerOf: (config: Config) => InnerLayer,
): HeadDefinition<Config> {
  return {
    classifier: 'classifier',
    inner(config) {
      const { width, deviation } = layerOf(config);
      return linearParameters(name, width, width, deviation);
    },
    transform: (builder, config, x) =>
      builder.dropout(builder.graph.tanh(builder.linear(x, name)), layerOf(config).dropout),
  };
}
