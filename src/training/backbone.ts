/** Pretrained encoders that a training starts from: a folder in Hugging Face's layout becomes weights and a tokenizer. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { err, ok, type Result, ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  type BertConfig,
  type CheckpointConfig,
  type CheckpointWeights,
  checkpointWeights,
  parseCheckpointConfig,
} from '../encoder/index.js';
import { ModelFolderError } from '../errors.js';
import {
  CONFIG_FILE,
  decodeWeights,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
  WEIGHTS_FILE,
} from '../model-folder/index.js';
import { loadTokenizer, type Tokenizer, vocabularyTokenizer } from '../tokenizer/index.js';

/** Which backbone, and where its files lie. */
export interface BackboneSource {
  /** As it was asked for, such as `owner/name`. */
  readonly name: string;
  /** What names exactly its files, where its source keeps several versions. */
  readonly revision?: string;
  readonly directory: string;
}

/** A pretrained encoder with the tokenizer that it was trained with. */
export interface Backbone {
  readonly source: BackboneSource;
  readonly encoder: BertConfig;
  readonly weights: CheckpointWeights;
  readonly tokenizer: LoadedTokenizer;
  /** Whether the tokenizer tells 'A' from 'a'. */
  readonly lowercase: boolean;
  /** The most tokens that it reads at once. */
  readonly maxTokens: number;
}

/** A tokenizer, and the files that it is stored as. */
export interface LoadedTokenizer {
  readonly tokenizer: Tokenizer;
  /** tokenizer.json, parsed. */
  readonly json: unknown;
  /** tokenizer_config.json, parsed. */
  readonly config: object;
}

const VOCABULARY_FILE = 'vocab.txt';

/** All that is read of a backbone's folder. */
export const BACKBONE_FILES = [
  CONFIG_FILE,
  WEIGHTS_FILE,
  TOKENIZER_FILE,
  TOKENIZER_CONFIG_FILE,
  VOCABULARY_FILE,
] as const;

/** Fails with a ModelFolderError that names the file and says what it lacks or why it can't be used. */
export function readBackbone(source: BackboneSource): ResultAsync<Backbone, ModelFolderError> {
  const files = ResultAsync.combine([
    readJson(source.directory, CONFIG_FILE).andThen(required(source, CONFIG_FILE)),
    readBytes(source.directory, WEIGHTS_FILE).andThen(required(source, WEIGHTS_FILE)),
    readTokenizer(source),
  ]);
  return files.andThen(([json, bytes, tokenizer]) =>
    parseCheckpointConfig(json, join(source.directory, CONFIG_FILE)).andThen((config) =>
      readWeights(config, bytes, source)
        .andThen((weights) => checkVocabulary(config, tokenizer, source).map(() => weights))
        .map((weights) => ({
          source,
          encoder: config.encoder,
          weights,
          tokenizer,
          lowercase: ignoresCase(tokenizer.tokenizer),
          maxTokens: maxTokensOf(config.encoder, tokenizer),
        })),
    ),
  );
}

function readWeights(
  config: CheckpointConfig,
  bytes: Uint8Array,
  { directory }: BackboneSource,
): Result<CheckpointWeights, ModelFolderError> {
  const file = join(directory, WEIGHTS_FILE);
  return decodeWeights(bytes, file).andThen((tensors) => checkpointWeights(config, tensors, file));
}

function readTokenizer(source: BackboneSource): ResultAsync<LoadedTokenizer, ModelFolderError> {
  const { directory } = source;
  const files = ResultAsync.combine([
    readJson(directory, TOKENIZER_FILE),
    readJson(directory, TOKENIZER_CONFIG_FILE),
    readBytes(directory, VOCABULARY_FILE),
  ]);
  return files
    .andThen(([json, config = {}, pieces]) => {
      if (json !== undefined) return ok({ json: withoutPadding(json), config });
      if (pieces === undefined) return err(missing(source, `${TOKENIZER_FILE} or ${VOCABULARY_FILE}`));
      const text = Buffer.from(pieces).toString('utf8');
      return vocabularyTokenizer(text, config).map((built) => ({ json: built, config }));
    })
    .andThen(({ json, config }) =>
      loadTokenizer(json, config).map((tokenizer) => ({ tokenizer, json, config })),
    )
    .mapErr((error) =>
      error.file.startsWith(directory)
        ? error
        : new ModelFolderError(join(directory, error.file), withoutFile(error), { cause: error }),
    );
}

const withoutFile = ({ file, message }: ModelFolderError): string => message.replace(`${file}: `, '');

const tokenizerJsonSchema = z.record(z.string(), z.unknown());

/** Lengths are the model's and the caller's to decide; a stored padding would be applied by other libraries. */
function withoutPadding(json: unknown): unknown {
  const parsed = tokenizerJsonSchema.safeParse(json);
  return parsed.success ? { ...parsed.data, truncation: null, padding: null } : json;
}

function checkVocabulary(
  { encoder }: CheckpointConfig,
  { tokenizer }: LoadedTokenizer,
  { directory }: BackboneSource,
): Result<void, ModelFolderError> {
  if (tokenizer.vocabularySize <= encoder.vocab_size) return ok();
  const reason = `has ids up to ${tokenizer.vocabularySize - 1}, but ${CONFIG_FILE} a vocab_size of ${encoder.vocab_size}: they are not of one model`;
  return err(new ModelFolderError(join(directory, TOKENIZER_FILE), reason));
}

const lengthSchema = z.object({ model_max_length: z.int().positive() });

/** Positions beyond what the tokenizer's settings name may exist and never have been trained. */
function maxTokensOf({ max_position_embeddings }: BertConfig, { config }: LoadedTokenizer): number {
  const parsed = lengthSchema.safeParse(config);
  // Where no length was set, transformers writes 1e30, which is no integer that JSON keeps.
  return parsed.success
    ? Math.min(max_position_embeddings, parsed.data.model_max_length)
    : max_position_embeddings;
}

const CASED_TEXT = 'The Quick Brown FOX';

function ignoresCase(tokenizer: Tokenizer): boolean {
  return tokenizer.encode(CASED_TEXT).ids.join() === tokenizer.encode(CASED_TEXT.toLowerCase()).ids.join();
}

/** @returns undefined where there is no such file. */
function readBytes(directory: string, name: string): ResultAsync<Uint8Array | undefined, ModelFolderError> {
  const file = join(directory, name);
  const read = readFile(file).catch((thrown: unknown) => {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
    throw thrown;
  });
  return ResultAsync.fromPromise(read, (cause) => new ModelFolderError(file, reasonOf(cause), { cause }));
}

/** @returns undefined where there is no such file. */
function readJson(directory: string, name: string): ResultAsync<unknown, ModelFolderError> {
  return readBytes(directory, name).andThen((bytes) => {
    if (bytes === undefined) return ok(undefined);
    try {
      const json: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
      return ok(json);
    } catch (cause) {
      return err(new ModelFolderError(join(directory, name), reasonOf(cause), { cause }));
    }
  });
}

function required(source: BackboneSource, file: string) {
  return <T>(content: T | undefined): Result<T, ModelFolderError> =>
    content === undefined ? err(missing(source, file)) : ok(content);
}

function missing({ name, directory }: BackboneSource, file: string): ModelFolderError {
  const advice = file === WEIGHTS_FILE ? '; weights in other formats are not read' : '';
  return new ModelFolderError(join(directory, file), `the backbone ${name} lacks it${advice}`);
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
