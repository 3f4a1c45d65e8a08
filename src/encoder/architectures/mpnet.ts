import * as z from 'zod';
import type { Tensor } from '../../graph/index.js';
import type { EncoderBuilder, EncoderInputs } from '../encoder-builder.js';
import { inPart, weight } from '../parameter.js';
import { bertLayerNames, type LayerNames, robertaHead, type Stack, stack, stackParameters } from '../parts.js';
import { bertFields, bertLayerOptions, bertLike, bertWidths } from './bert.js';

const BUCKETS = 32;
/** All distances from here on are in the last bucket. */
const MAX_DISTANCE = 128;

const { classifier_dropout, ...fields } = bertFields;

const schema = z.object({
  model_type: z.literal('mpnet'),
  ...fields,
  // transformers counts positions of ids other than 1, whatever this field says.
  pad_token_id: z.literal(1).default(1),
  relative_attention_num_buckets: z.literal(BUCKETS).default(BUCKETS),
});
type Config = z.infer<typeof schema>;

const names: LayerNames = {
  ...bertLayerNames,
  query: 'attention.attn.q',
  key: 'attention.attn.k',
  value: 'attention.attn.v',
  attentionOutput: 'attention.attn.o',
  attentionNorm: 'attention.LayerNorm',
};
const BIAS = 'encoder.relative_attention_bias.weight';

const stackOf = ({ num_hidden_layers }: Config): Stack => ({ layers: num_hidden_layers, stem: 'encoder.layer', names });

/** MPNet (Song et al. 2020): BERT without token types, with a bias of each head's scores by the tokens' distance. */
export const mpnet = bertLike<Config>({
  name: 'MPNet',
  classes: { mpnet: 'MPNet' },
  prefix: 'mpnet.',
  schema,
  firstPosition: ({ pad_token_id }) => pad_token_id + 1,
  layers: {
    parameters(config) {
      const { num_attention_heads: heads, initializer_range: deviation } = config;
      const bias = weight(BIAS, [BUCKETS, heads], deviation);
      return [...stackParameters(stackOf(config), bertWidths(config)), ...inPart('embeddings', [bias])];
    },
    states(builder, config, inputs, hidden, states) {
      const all = distanceBias(builder, config, inputs, 'all');
      return stack(builder, hidden, stackOf(config), {
        ...bertLayerOptions(config),
        biases: (asked) => [asked === 'all' ? all : distanceBias(builder, config, inputs, asked), inputs.attentionBias],
        states,
      });
    },
  },
  textHead: robertaHead,
});

/** [heads, asked tokens, tokens]. Rows are picked by a product with zeros and ones, whose gradient is dense. */
function distanceBias(builder: EncoderBuilder, config: Config, inputs: EncoderInputs, asked: 'all' | 'first'): Tensor {
  const { graph } = builder;
  const farthest = config.max_position_embeddings;
  const positions = inputs.positions();
  const own = asked === 'all' ? positions : graph.gather(positions, graph.constant([0], [1], 'int64'));
  const count = asked === 'all' ? 'tokens' : 1;
  const distances = graph.subtract(graph.reshape(positions, [1, 'tokens']), graph.reshape(own, [count, 1]));
  const fromZero = graph.add(distances, graph.constant([farthest], [], positions.type));
  const rows = Array.from({ length: 2 * farthest + 1 }, (_, at) => bucketOf(at - farthest));
  const buckets = graph.gather(graph.constant(rows, [rows.length], 'int64'), fromZero);
  const identity = Array.from({ length: BUCKETS ** 2 }, (_, at) => (at % (BUCKETS + 1) === 0 ? 1 : 0));
  const picks = graph.gather(graph.constant(identity, [BUCKETS, BUCKETS]), buckets);
  const biases = graph.gemm(graph.flattenRows(picks), builder.parameter(BIAS));
  const shaped = graph.reshape(biases, [count, 'tokens', config.num_attention_heads]);
  return graph.transpose(shaped, [2, 0, 1]);
}

/** Exact up to 7, then wider and wider (as in T5, Raffel et al. 2020). @param distance negative to tokens before. */
export function bucketOf(distance: number): number {
  const half = BUCKETS / 2;
  const exact = half / 2;
  const side = distance > 0 ? half : 0;
  const far = Math.abs(distance);
  if (far < exact) return side + far;
  const growth = Math.log2(far / exact) / Math.log2(MAX_DISTANCE / exact);
  return side + Math.min(half - 1, exact + Math.floor(growth * (half - exact)));
}
