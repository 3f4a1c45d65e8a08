import * as z from 'zod';
import type { Tensor } from '../../graph/index.js';
import { architecture } from '../architecture.js';
import type { EncoderBuilder } from '../encoder-builder.js';
import type { EncoderInputs } from '../encoder-inputs.js';
import { inPart, type ParameterSpec, weight } from '../parameter.js';
import { innerHead, type LayerNames, plainHead, postNormLayer, robertaHead, stackParameters } from '../parts.js';
import {
  bertEmbeddings,
  bertFields,
  bertInnerLayer,
  bertLayerOptions,
  bertTables,
  bertTraits,
  bertWidths,
  headDropoutOf,
  reasonAgainstBertHeads,
} from './bert.js';

/** Buckets of distances: half for tokens before, half for tokens after, as transformers computes them. */
const BUCKETS = 32;
/** Distances from which on all are in the last bucket. */
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
  query: 'attention.attn.q',
  key: 'attention.attn.k',
  value: 'attention.attn.v',
  attentionOutput: 'attention.attn.o',
  attentionNorm: 'attention.LayerNorm',
  inner: 'intermediate.dense',
  outer: 'output.dense',
  outputNorm: 'output.LayerNorm',
};
const STEM = 'encoder.layer';
const BIAS = 'encoder.relative_attention_bias.weight';

/** Positions count from the padding token's id + 1. */
const FIRST_POSITION = 2;

const biasParameter = ({ num_attention_heads, initializer_range }: Config): ParameterSpec =>
  weight(BIAS, [BUCKETS, num_attention_heads], initializer_range);

/**
 * MPNet (Song et al. 2020): BERT's layers without token types, and a bias of the attention scores for each head by how far
 * apart two tokens are, the same in every layer.
 */
export const mpnet = architecture<Config>({
  name: 'MPNet',
  classes: { mpnet: 'MPNet' },
  prefix: 'mpnet.',
  schema,
  reasonAgainst(config) {
    const { max_position_embeddings: positions } = config;
    if (positions > FIRST_POSITION) return reasonAgainstBertHeads(config);
    return `max_position_embeddings ${positions} leave no position for a token, as they count from ${FIRST_POSITION}`;
  },
  traits: (config) => ({
    ...bertTraits(config),
    maxTokens: config.max_position_embeddings - FIRST_POSITION,
    firstPosition: FIRST_POSITION,
  }),
  parameters: (config) => [
    ...bertTables(config),
    ...stackParameters({ layers: config.num_hidden_layers, stem: STEM, names }, bertWidths(config)),
    ...inPart('embeddings', [biasParameter(config)]),
  ],
  states(builder, config, inputs, states) {
    let hidden = bertEmbeddings(builder, config, inputs, FIRST_POSITION);
    const options = bertLayerOptions(config);
    const distances = distanceBias(builder, config, inputs, 'all');
    for (let layer = 0; layer < config.num_hidden_layers; layer += 1) {
      const asked = layer === config.num_hidden_layers - 1 ? states : 'all';
      const bias = asked === 'all' ? distances : distanceBias(builder, config, inputs, asked);
      hidden = postNormLayer(builder, hidden, `${STEM}.${layer}`, names, {
        ...options,
        biases: [bias, inputs.attentionBias],
        states: asked,
      });
    }
    return hidden;
  },
  textHead: innerHead(robertaHead, bertInnerLayer),
  tokenHead: plainHead(headDropoutOf),
});

/**
 * The bias of each pair of an asked token and another: [heads, tokens, tokens], or [heads, 1, tokens] for the first token.
 * A table has the bucket of every distance that can be; the buckets' rows are picked by multiplying with a matrix of
 * zeros and ones, whose gradient is dense.
 */
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

/**
 * The bucket of a distance: exact up to 7 tokens, then wider and wider (as in T5, Raffel et al. 2020).
 * @param distance of a token from the asked one, in tokens; negative before it.
 */
export function bucketOf(distance: number): number {
  const half = BUCKETS / 2;
  const exact = half / 2;
  const side = distance > 0 ? half : 0;
  const far = Math.abs(distance);
  if (far < exact) return side + far;
  const growth = Math.log2(far / exact) / Math.log2(MAX_DISTANCE / exact);
  return side + Math.min(half - 1, exact + Math.floor(growth * (half - exact)));
}
