import type { Tensor } from '../../graph/index.js';
import type { EncoderBuilder } from '../encoder-builder.js';
import type { EncoderInputs } from '../encoder-inputs.js';
import { inPart, layerNormParameters, type ParameterSpec, weight } from '../parameter.js';

/** Tables of words, positions and perhaps token types, whose rows are added up and normalised. */
export interface Embeddings {
  readonly vocabulary: number;
  readonly positions: number;
  /** Token types that have a row; undefined: none is read. */
  readonly types?: number;
  readonly width: number;
  /** Standard deviation of new weights. */
  readonly deviation: number;
}

const WORDS = 'embeddings.word_embeddings';
const POSITIONS = 'embeddings.position_embeddings';
const TYPES = 'embeddings.token_type_embeddings';
const NORM = 'embeddings.LayerNorm';

/** The parameters of {@link embed}. */
export function embeddingParameters({
  vocabulary,
  positions,
  types,
  width,
  deviation,
}: Embeddings): ParameterSpec[] {
  return inPart('embeddings', [
    weight(`${WORDS}.weight`, [vocabulary, width], deviation, 'words'),
    weight(`${POSITIONS}.weight`, [positions, width], deviation, 'table'),
    ...(types === undefined ? [] : [weight(`${TYPES}.weight`, [types, width], deviation, 'table')]),
    ...layerNormParameters(NORM, width),
  ]);
}

export interface EmbedOptions {
  /** Whether token types are read. Default true. */
  readonly types?: boolean;
  /** ε of the LayerNorm. */
  readonly epsilon: number;
  /** Probability of dropout of the result. */
  readonly dropout: number;
  /** Row of the first token in the table of positions. */
  readonly firstPosition: number;
}

/** The normalised sum of each token's rows. @returns [tokens*batch, width]. */
export function embed(
  builder: EncoderBuilder,
  inputs: EncoderInputs,
  { types = true, epsilon, dropout, firstPosition }: EmbedOptions,
): Tensor {
  const { graph } = builder;
  const words = graph.gather(builder.parameter(`${WORDS}.weight`), inputs.ids);
  const typed = types ? graph.add(words, inputs.typeRows(builder.parameter(`${TYPES}.weight`))) : words;
  const positions = inputs.positionRows(builder.parameter(`${POSITIONS}.weight`), firstPosition);
  const sum = graph.flattenRows(graph.add(typed, positions));
  return builder.dropout(builder.layerNorm(sum, NORM, epsilon), dropout);
}
