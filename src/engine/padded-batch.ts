import { type EncoderTraits, PADDING_BIAS } from '../encoder/index.js';
import type { TensorData } from '../graph/index.js';
import type { Encoding } from '../tokenizer/index.js';

/** Sequences padded to one length, as the encoder's training inputs take them. */
export interface PaddedBatch {
  readonly sizes: { readonly tokens: number; readonly batch: number };
  readonly feeds: Readonly<Record<IdFeed, Int32Data> & Record<OtherFeed, TensorData>>;
}

type Int32Data = Extract<TensorData, { readonly type: 'int32' }>;

/** Feeds that index the rows of an embedding table. */
export type IdFeed = 'ids' | 'token_types' | 'positions';
type OtherFeed = 'attention_bias' | 'distances' | 'first_token' | 'token_share';

/** Those of a batch's feeds that are inputs of a graph. */
export function feedsFor(
  { feeds }: PaddedBatch,
  inputNames: ReadonlySet<string>,
): Record<string, TensorData> {
  return Object.fromEntries(Object.entries(feeds).filter(([name]) => inputNames.has(name)));
}

/** Pads sequences and lays them side by side, tokens first; see `EncoderInputs` for what each feed holds. */
export function padBatch(
  encodings: readonly Encoding[],
  { padId, firstPosition }: Pick<EncoderTraits, 'padId' | 'firstPosition'>,
): PaddedBatch {
  const batch = encodings.length;
  const tokens = Math.max(...encodings.map(({ ids }) => ids.length));
  const ids = new Int32Array(tokens * batch).fill(padId);
  const types = new Int32Array(tokens * batch);
  const bias = new Float32Array(batch * tokens).fill(PADDING_BIAS);
  const share = new Float32Array(tokens * batch);
  for (const [row, encoding] of encodings.entries()) {
    const { length } = encoding.ids;
    for (let token = 0; token < length; token += 1) {
      const at = token * batch + row;
      ids[at] = encoding.ids[token] ?? padId;
      types[at] = encoding.typeIds[token] ?? 0;
      share[at] = 1 / length;
    }
    bias.fill(0, row * tokens, row * tokens + length);
  }
  const positions = Int32Array.from({ length: tokens }, (_, token) => firstPosition + token);
  const distances = Int32Array.from({ length: 2 * tokens }, (_, at) => at - tokens);
  const first = new Float32Array(tokens);
  first[0] = 1;
  return {
    sizes: { tokens, batch },
    feeds: {
      ids: { type: 'int32', dims: [tokens, batch], data: ids },
      token_types: { type: 'int32', dims: [tokens, batch], data: types },
      positions: { type: 'int32', dims: [tokens, 1], data: positions },
      distances: { type: 'int32', dims: [2 * tokens], data: distances },
      attention_bias: { type: 'float32', dims: [batch, 1, 1, tokens], data: bias },
      first_token: { type: 'float32', dims: [tokens, 1, 1], data: first },
      token_share: { type: 'float32', dims: [tokens, batch, 1], data: share },
    },
  };
}
