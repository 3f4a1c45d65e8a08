import { type Encoder, type EncoderTraits, PADDING_BIAS } from '../encoder/index.js';
import type { TensorData } from '../graph/index.js';
import { Random } from '../system/index.js';
import type { Encoding, TextWindow } from '../text/index.js';

interface LengthBatchOptions {
  readonly batchSize: number;
  /** 32-bit integer; together with the epoch it decides the order. */
  readonly seed: number;
  readonly epoch: number;
}

/** Rows are sorted by length within chunks of this many batches: little padding, but still a random mix. */
const BATCHES_PER_CHUNK = 20;

/**
 * The batches of one epoch: rows are shuffled, sorted by length within chunks of 20 batches and cut into batches, whose
 * order is shuffled again. Every row occurs exactly once; the same arguments give the same batches.
 * @param lengths length of each row in tokens.
 * @returns row indices, batch by batch.
 * @throws RangeError if the batch size is below 1.
 */
export function lengthBatches(lengths: readonly number[], { batchSize, seed, epoch }: LengthBatchOptions): number[][] {
  if (!(batchSize >= 1)) throw new RangeError(`\`batchSize\` is ${batchSize}; it must be 1 or more`);
  const random = Random.fromSeed(seed, epoch);
  const order = random.shuffle(lengths.map((length, row) => ({ row, length })));
  const batches: number[][] = [];
  for (let start = 0; start < order.length; start += batchSize * BATCHES_PER_CHUNK) {
    const chunk = order.slice(start, start + batchSize * BATCHES_PER_CHUNK);
    chunk.sort((a, b) => a.length - b.length);
    for (let at = 0; at < chunk.length; at += batchSize) {
      batches.push(chunk.slice(at, at + batchSize).map(({ row }) => row));
    }
  }
  return random.shuffle(batches);
}

/**
 * Word dropout (Dai & Le 2015): copies of encodings in which each token is replaced by [MASK] with a given
 * probability, so that the model doesn't rely on single words. Special tokens stay.
 * @param seeds decide which tokens are replaced; the same seeds give the same copies.
 */
export function dropTokens(
  encodings: readonly Encoding[],
  probability: number,
  maskId: number,
  ...seeds: readonly number[]
): readonly Encoding[] {
  if (probability === 0) return encodings;
  const random = Random.fromSeed(...seeds);
  return encodings.map((encoding) => ({
    ...encoding,
    ids: encoding.ids.map((id, token) =>
      encoding.sequenceIds[token] !== -1 && random.uniform() < probability ? maskId : id,
    ),
  }));
}

/** Sequences padded to one length, as the encoder's training inputs take them. */
export interface PaddedBatch {
  readonly sizes: { readonly tokens: number; readonly batch: number };
  readonly feeds: Readonly<Record<IdFeed, Int32Data> & Record<OtherFeed, TensorData>>;
}

type Int32Data = Extract<TensorData, { readonly type: 'int32' }>;

export type IdFeed = 'ids' | 'token_types' | 'positions';
type OtherFeed = 'attention_bias' | 'distances' | 'first_token' | 'token_share';

export function feedsFor({ feeds }: PaddedBatch, inputNames: ReadonlySet<string>): Record<string, TensorData> {
  return Object.fromEntries(Object.entries(feeds).filter(([name]) => inputNames.has(name)));
}

/** Pads sequences and interleaves them, tokens first; see `EncoderInputs` for what each feed holds. */
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

export function longestOf(windows: readonly TextWindow[]): number {
  return windows.reduce((longest, { encoding }) => Math.max(longest, encoding.ids.length), 0);
}

/** Maximum number of tokens per run, padding included, by default; larger batches are split and their gradients summed. */
const MAX_TOKENS_PER_RUN = 4096;
/** Maximum number of attention weights (over all layers and heads) per run: 128 MiB of float32. */
const MAX_ATTENTION_PER_RUN = 2 ** 25;

/**
 * How many sequences of this length one run may hold: bounded by its tokens and, for long ones, by its
 * attention weights.
 */
export function rowsPerRun(encoder: Encoder, tokens: number, tokensPerRun = MAX_TOKENS_PER_RUN): number {
  const attention = tokens ** 2 * encoder.heads * encoder.layers;
  return Math.max(1, Math.floor(Math.min(tokensPerRun / tokens, MAX_ATTENTION_PER_RUN / attention)));
}

export interface BatchBounds {
  readonly batchSize: number;
  readonly longest: number;
  /** Whether batches are split even where they would fit in one run. Default false. */
  readonly split?: boolean;
  readonly tokensPerRun?: number;
}

/** Whether some batches within the bounds take more than one run. */
export function splitsBatches(
  encoder: Encoder,
  { batchSize, longest, split = false, tokensPerRun }: BatchBounds,
): boolean {
  const lengths = Array.from({ length: longest }, (_, at) => at + 1);
  return split || lengths.some((tokens) => rowsPerRun(encoder, tokens, tokensPerRun) < batchSize);
}
