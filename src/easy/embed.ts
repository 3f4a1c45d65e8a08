import { stat } from 'node:fs/promises';
import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { querySchema, validate } from '../contract/index.js';
import { DEVICES, type Device } from '../device-names.js';
import { type OrchardError, toOrchardError } from '../errors.js';
import { implementation } from '../inference/index.js';
import type { ModelLoader } from '../model-loader/index.js';
import { type PlacedModel, placeOf } from './base-model.js';
import { OpenEncoders } from './search/open-encoders.js';
import { SentenceEncoder } from './search/sentence-encoder.js';

/** Which encoder reads texts, and where it computes. */
export interface EmbedOptions {
  /**
   * A backbone or pretrained model by its name, `owner/name` of the Hugging Face Hub, or the folder of a backbone or model.
   * Default `english-mini`.
   */
  readonly model?: string | undefined;
  /** Where models come from that are no folders. Default: catalogue, backbones and, for `owner/name`, the Hub. */
  readonly modelLoader?: ModelLoader | undefined;
  /** `cpu`, a device by its name, or `auto`. Default `cpu`. */
  readonly device?: Device | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What reads texts where no model is named. */
export const DEFAULT_ENCODER = 'english-mini';

export const embedSchema = z.strictObject({
  model: z.string().min(1, 'the name is empty').default(DEFAULT_ENCODER),
  modelLoader: implementation<ModelLoader>(['load'], 'pass a model loader, such as hubModels()').optional(),
  device: z.enum(DEVICES).default('cpu'),
  signal: z.instanceof(AbortSignal).optional(),
});
const textsSchema = z.array(querySchema);

/** Encoders that stay open until others are asked for, or the process ends: each has its threads and its weights in memory. */
const KEPT_OPEN = 2;
const encoders = new OpenEncoders<SentenceEncoder>(KEPT_OPEN);

/**
 * The vectors of texts, in their order: of unit length, so that a dot product of two is their cosine. Texts that mean
 * similar things have similar vectors, as far as the encoder tells; of long ones the first 256 tokens count. The two
 * encoders that were used last stay open for the next call.
 * Fails with a ValidationError, a NotFoundError that names what there is, a ModelFolderError or an AbortedError.
 */
export function embed(
  texts: readonly string[],
  options: EmbedOptions = {},
): ResultAsync<readonly Float32Array[], OrchardError> {
  const work = async () => {
    const checked = validate(textsSchema, texts, ['texts']);
    const { model, modelLoader, device, signal } = validate(embedSchema, options ?? {});
    const placed = await placeOf(model, { modelLoader, backbones: true, signal });
    const key = `${device} ${placed.directory} ${await editionOf(placed)}`;
    const open = () => SentenceEncoder.ofModel(placed, { service: { device } });
    return encoders.use(key, open, (encoder) => encoder.vectors(checked, signal));
  };
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, 'encoding texts'));
}

/** Tells a folder from one that has taken its place, as after another training. */
async function editionOf({ directory }: PlacedModel): Promise<string> {
  const { ino, mtimeMs } = await stat(directory);
  return `${ino} ${mtimeMs}`;
}
