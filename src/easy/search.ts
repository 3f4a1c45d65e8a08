import { resolve } from 'node:path';
import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { querySchema, validate } from '../contract/index.js';
import { DEVICES, type Device } from '../device-names.js';
import { type OrchardError, toOrchardError } from '../errors.js';
import { trainingLanguage } from '../training/index.js';
import { placeOf } from './base-model.js';
import { type EmbedOptions, embedSchema } from './embed.js';
import type { IndexParts, SearchIndex } from './search/search-index.js';
import { SentenceEncoder } from './search/sentence-encoder.js';

/** How passages are read. */
export interface SearchOptions extends EmbedOptions {
  /** An English name or a code such as `en-GB`: English words are compared by their stems. Default `english`. */
  readonly language?: string | undefined;
}

/** How an index is opened. */
export interface OpenSearchOptions {
  /** Where questions are read: `cpu`, a device by its name, or `auto`. Default `cpu`. */
  readonly device?: Device | undefined;
  readonly signal?: AbortSignal | undefined;
}

const searchSchema = embedSchema.extend({
  model: z.string().min(1, 'the name is empty').optional(),
  language: z.string().min(1).max(40).optional(),
});
const openSchema = z.strictObject({
  device: z.enum(DEVICES).default('cpu'),
  signal: z.instanceof(AbortSignal).optional(),
});
const passagesSchema = z
  .array(querySchema.min(1, 'the passage is empty'))
  .min(1, 'give at least one passage');

/**
 * Makes passages searchable, with no questions to learn from: by their words (BM25) and by their meaning (the vectors of
 * their sentences, by a backbone or any model). Reads some hundred sentences a second.
 * Fails with a ValidationError that names the passage, a NotFoundError for `model`, a ModelFolderError or an AbortedError.
 */
export function search(
  passages: Iterable<string>,
  options: SearchOptions = {},
): ResultAsync<SearchIndex, OrchardError> {
  const work = async () => {
    const { model, language, modelLoader, device, signal } = validate(searchSchema, options ?? {});
    const given = validate(passagesSchema, typeof passages === 'string' ? passages : [...passages], [
      'passages',
    ]);
    const spoken = trainingLanguage(language === undefined ? {} : { language });
    const name = model ?? `${spoken}-mini`;
    const placed = await placeOf(name, { modelLoader, backbones: true, signal });
    const encoder = await SentenceEncoder.ofModel(placed, { service: { device }, signal });
    const { indexParts } = await indexing();
    return withEncoder(encoder, () => indexParts(given, encoder, spoken === 'english', signal));
  };
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, 'indexing passages'));
}

/** Opens an index that was saved. Fails with a ModelFolderError for what is no index, or an AbortedError. */
export function openSearch(
  folder: string,
  options: OpenSearchOptions = {},
): ResultAsync<SearchIndex, OrchardError> {
  const work = async () => {
    const directory = resolve(validate(z.string().min(1, 'the path is empty'), folder, ['folder']));
    const { device, signal } = validate(openSchema, options ?? {});
    const { encoderFolder, readIndexFolder } = await indexing();
    const parts = await readIndexFolder(directory);
    const encoder = await SentenceEncoder.ofFolder(encoderFolder(directory), { service: { device }, signal });
    return withEncoder(encoder, async () => ({ ...parts, encoder }));
  };
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, `opening ${folder}`));
}

/** Both experts are loaded on first use: a program that searches nothing needn't wait for them. */
const indexing = () => import('./search/search-index.js');

/** An index with an encoder, which is closed where there comes to be none. */
async function withEncoder(encoder: SentenceEncoder, parts: () => Promise<IndexParts>): Promise<SearchIndex> {
  try {
    const { OpenSearchIndex } = await indexing();
    return new OpenSearchIndex(await parts());
  } catch (thrown) {
    await encoder.close();
    throw thrown;
  }
}
