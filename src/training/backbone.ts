import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { isError, ModelFolderError, messageOf } from '../contract/index.js';
import {
  type CheckpointWeights,
  checkpointWeights,
  type Encoder,
  type EncoderHead,
  headWeights,
  readEncoder,
} from '../encoder/index.js';
import type { CheckpointHead } from '../families/index.js';
import { readStoredWeight, restoredWeights, type StoredWeights } from '../graph/index.js';
import {
  CONFIG_FILE,
  decodeWeights,
  type NamedTensor,
  QUANTIZED_ONNX_FILE,
  readFolderFile,
  SHARDS_FILE,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
  WEIGHTS_FILE,
} from '../models/index.js';
import { loadTokenizer, type Tokenizer, vocabularyTokenizer } from '../text/index.js';
import { type BackboneSource, shardNames, VOCABULARY_FILE } from './backbone-files.js';
import { isCheckpoint } from './checkpoint.js';

/** Weights by name that are read, or computed, each time that they are asked for, so that none stays in memory. */
export class LazyWeights implements ReadonlyMap<string, Float32Array> {
  readonly #read: ReadonlyMap<string, () => Float32Array>;

  constructor(read: Iterable<readonly [name: string, read: () => Float32Array]>) {
    this.#read = new Map(read);
  }

  get size(): number {
    return this.#read.size;
  }

  has(name: string): boolean {
    return this.#read.has(name);
  }

  get(name: string): Float32Array | undefined {
    return this.#read.get(name)?.();
  }

  keys(): MapIterator<string> {
    return this.#read.keys();
  }

  *entries(): MapIterator<[string, Float32Array]> {
    for (const [name, read] of this.#read) yield [name, read()];
  }

  *values(): MapIterator<Float32Array> {
    for (const [, values] of this.entries()) yield values;
  }

  [Symbol.iterator](): MapIterator<[string, Float32Array]> {
    return this.entries();
  }

  forEach(visit: (values: Float32Array, name: string, weights: ReadonlyMap<string, Float32Array>) => void): void {
    for (const [name, values] of this.entries()) visit(values, name, this);
  }
}

/** A pretrained encoder with the tokenizer that it was trained with. */
export interface Backbone {
  readonly source: BackboneSource;
  readonly encoder: Encoder;
  readonly weights: CheckpointWeights;
  /** Those of them that the weights' file has as graphs can take them, under the same names. */
  readonly stored?: StoredWeights;
  readonly tokenizer: LoadedTokenizer;
  /** Whether the tokenizer folds texts to lower case. */
  readonly lowercase: boolean;
  /** Most tokens that it reads at once. */
  readonly maxTokens: number;
  /** Of a fine-tuned checkpoint of transformers. */
  readonly head?: CheckpointHead & {
    /** Its layers, by name. Those before the last are among the encoder's weights, too. */
    readonly weights: CheckpointWeights;
  };
}

/** With the layers of its head in front of its own. */
export function withHead(backbone: Backbone): Backbone {
  const { weights, head } = backbone;
  if (head === undefined) return backbone;
  const read = [...weights.keys(), ...head.weights.keys()].map((name): [string, () => Float32Array] => [
    name,
    () => head.weights.get(name) ?? weights.get(name) ?? new Float32Array(),
  ]);
  return { ...backbone, weights: new LazyWeights(read) };
}

export function encoderHeadOf({ textHead, tokenHead }: Encoder, { per }: Pick<CheckpointHead, 'per'>): EncoderHead {
  return per === 'text' ? textHead : tokenHead;
}

/** A tokenizer, and the content of its files. */
export interface LoadedTokenizer {
  readonly tokenizer: Tokenizer;
  /** tokenizer.json, parsed. */
  readonly json: unknown;
  /** tokenizer_config.json, parsed. */
  readonly config: object;
}

/** @throws ModelFolderError that names the file and says what it lacks or why it can't be used. */
export async function readBackbone(source: BackboneSource): Promise<Backbone> {
  const { directory } = source;
  const json = await readJson(directory, CONFIG_FILE);
  if (json === undefined) throw missing(source, CONFIG_FILE);
  const encoder = readEncoder(json, join(directory, CONFIG_FILE));
  const tokenizer = await readTokenizer(source);
  checkVocabulary(encoder, tokenizer, source);
  const weights = await readWeights(source, encoder, headOf(json, encoder));
  return {
    source,
    encoder,
    ...weights,
    tokenizer,
    lowercase: ignoresCase(tokenizer.tokenizer),
    maxTokens: maxTokensOf(encoder, tokenizer),
  };
}

const headSchema = z.object({
  architectures: z.array(z.string()).min(1),
  id2label: z.record(z.string(), z.string()).optional(),
  num_labels: z.int().positive().optional(),
  problem_type: z
    .enum(['single_label_classification', 'multi_label_classification', 'regression'])
    .nullable()
    .optional(),
});

/** transformers writes neither the names nor the number of two labels without names. */
const UNNAMED_LABELS = 2;

/** @returns undefined for an encoder without a head of transformers, and for a model folder of ours. */
function headOf(json: unknown, { textHead, tokenHead }: Encoder): CheckpointHead | undefined {
  const parsed = headSchema.safeParse(json);
  if (!parsed.success || !isCheckpoint(json)) return undefined;
  const { architectures, id2label, num_labels = UNNAMED_LABELS, problem_type: problem } = parsed.data;
  const [name] = architectures;
  const per = name === textHead.className ? 'text' : name === tokenHead.className ? 'token' : undefined;
  if (per === undefined) return undefined;
  const count = id2label === undefined ? num_labels : Object.keys(id2label).length;
  const labels = Array.from({ length: count }, (_, id) => id2label?.[id] ?? `LABEL_${id}`);
  return { per, labels, problem: problem ?? undefined };
}

/**
 * From the safetensors, in one file or several, or, in a model folder of ours without them, from the graph with 8-bit
 * weights.
 */
async function readWeights(
  source: BackboneSource,
  encoder: Encoder,
  head: CheckpointHead | undefined,
): Promise<Pick<Backbone, 'weights' | 'stored' | 'head'>> {
  const { directory } = source;
  const file = join(directory, WEIGHTS_FILE);
  const weightsIn = (tensors: ReadonlyMap<string, NamedTensor>, from: string) => {
    const weights = checkpointWeights(encoder, tensors, from);
    const layers =
      head && headWeights(encoder, encoderHeadOf(encoder, head).parameters(head.labels.length), tensors, from);
    requireFinite([...weights, ...(layers ?? [])], from);
    return { weights, ...(head && layers && { head: { ...head, weights: layers } }) };
  };
  const bytes = await readBytes(directory, WEIGHTS_FILE);
  if (bytes !== undefined) {
    const { weights, ...rest } = weightsIn(decodeWeights(bytes, file, { inPlace: true }), file);
    return { ...(await storedWhereTheyLie(weights, bytes, file)), ...rest };
  }
  const shards = await readShards(directory);
  if (shards !== undefined) return weightsIn(shards, join(directory, SHARDS_FILE));
  const graph = await readBytes(directory, QUANTIZED_ONNX_FILE);
  if (graph === undefined) throw await withoutWeights(source);
  const path = join(directory, QUANTIZED_ONNX_FILE);
  const restored = await restoredWeights(graph).catch((cause: unknown) => {
    throw new ModelFolderError(path, `${reasonOf(cause)}, and there is no ${WEIGHTS_FILE}`, { cause });
  });
  return weightsIn(restored, path);
}

/** All tensors of weights in several files. @returns undefined if there is no index of such files. */
async function readShards(directory: string): Promise<ReadonlyMap<string, NamedTensor> | undefined> {
  const json = await readJson(directory, SHARDS_FILE);
  if (json === undefined) return undefined;
  const names = shardNames(json);
  if (names.length === 0) throw new ModelFolderError(join(directory, SHARDS_FILE), 'weight_map names no files');
  const tensors = new Map<string, NamedTensor>();
  for (const name of names) {
    const bytes = await readBytes(directory, name);
    if (bytes === undefined) {
      const reason = `it is missing, although ${SHARDS_FILE} lists it as one of ${names.length} files with weights`;
      throw new ModelFolderError(join(directory, name), `${reason}; download all of them`);
    }
    for (const [tensor, values] of decodeWeights(bytes, join(directory, name), { inPlace: true })) {
      tensors.set(tensor, values);
    }
  }
  return tensors;
}

/** A weight that isn't finite makes every answer NaN. @throws ModelFolderError */
function requireFinite(weights: Iterable<readonly [string, Float32Array]>, file: string): void {
  for (const [name, values] of weights) {
    let at = 0;
    while (at < values.length && Number.isFinite(values[at])) at += 1;
    if (at === values.length) continue;
    const reason = `tensor ${name} has ${values[at]} at position ${at}: its training diverged, or the file is damaged`;
    throw new ModelFolderError(file, `${reason}; download it again, or use an earlier checkpoint`);
  }
}

async function withoutWeights(source: BackboneSource): Promise<ModelFolderError> {
  const names = await readdir(source.directory).catch(() => []);
  const pickle = names.find((name) => /^pytorch_model.*\.bin$/u.test(name));
  if (pickle === undefined) return missing(source, WEIGHTS_FILE);
  const reason = 'a pickle, which can run code when it is read; Orchard reads safetensors only';
  return new ModelFolderError(join(source.directory, pickle), `${reason}; ${CONVERTS}`);
}

/**
 * The weights, of which those that are numbers of the file itself are left there, to be read when they are asked for:
 * a backbone may take more memory than what is trained on it.
 */
async function storedWhereTheyLie(
  weights: CheckpointWeights,
  bytes: Uint8Array,
  file: string,
): Promise<Pick<Backbone, 'weights' | 'stored'>> {
  const inFile = [...weights].filter(([, { buffer }]) => buffer === bytes.buffer);
  if (inFile.length === 0) return { weights };
  const offsets = new Map(inFile.map(([name, { byteOffset }]) => [name, byteOffset - bytes.byteOffset]));
  const stored: StoredWeights = { file: await realpath(file), offsets };
  const read = [...weights].map(([name, values]): [string, () => Float32Array] => [
    name,
    offsets.has(name) ? fromFile(stored, name, values.length) : given(values),
  ]);
  return { weights: new LazyWeights(read), stored };
}

/** Functions of one scope share what they refer to: these two must not, or the first would keep the values. */
function fromFile(stored: StoredWeights, name: string, count: number): () => Float32Array {
  return () => readStoredWeight(stored, name, count);
}
function given(values: Float32Array): () => Float32Array {
  return () => values;
}

/** @throws ModelFolderError */
export async function readTokenizer(source: BackboneSource): Promise<LoadedTokenizer> {
  const { directory } = source;
  const [stored, settings, pieces] = await Promise.all([
    readJson(directory, TOKENIZER_FILE),
    readJson(directory, TOKENIZER_CONFIG_FILE),
    readBytes(directory, VOCABULARY_FILE),
  ]);
  const config = settings ?? {};
  try {
    const json = stored === undefined ? fromVocabulary(source, pieces, config) : withoutPadding(stored);
    return { tokenizer: loadTokenizer(json, config), json, config };
  } catch (thrown) {
    throw withPath(thrown, directory);
  }
}

function fromVocabulary(source: BackboneSource, pieces: Uint8Array | undefined, config: unknown): unknown {
  if (pieces === undefined) throw missing(source, `${TOKENIZER_FILE} or ${VOCABULARY_FILE}`);
  return vocabularyTokenizer(Buffer.from(pieces).toString('utf8'), config);
}

function withPath(thrown: unknown, directory: string): unknown {
  if (!(thrown instanceof ModelFolderError) || thrown.file.startsWith(directory)) return thrown;
  const { file, message } = thrown;
  return new ModelFolderError(join(directory, file), message.replace(`${file}: `, ''), { cause: thrown });
}

const tokenizerJsonSchema = z.record(z.string(), z.unknown());

/**
 * Drops stored settings of truncation and padding: the model and the caller decide lengths, and other
 * libraries would apply what is stored.
 */
function withoutPadding(json: unknown): unknown {
  const parsed = tokenizerJsonSchema.safeParse(json);
  return parsed.success ? { ...parsed.data, truncation: null, padding: null } : json;
}

function checkVocabulary(
  { vocabularySize }: Encoder,
  { tokenizer }: LoadedTokenizer,
  { directory }: BackboneSource,
): void {
  if (tokenizer.vocabularySize <= vocabularySize) return;
  const reason = `has ids up to ${tokenizer.vocabularySize - 1}, but ${CONFIG_FILE} has a vocab_size of ${vocabularySize}: they belong to different models`;
  throw new ModelFolderError(join(directory, TOKENIZER_FILE), reason);
}

const lengthSchema = z.object({ model_max_length: z.int().positive() });

/** Positions beyond the tokenizer's model_max_length may exist without ever having been trained. */
function maxTokensOf({ maxTokens }: Encoder, { config }: LoadedTokenizer): number {
  const parsed = lengthSchema.safeParse(config);
  // Where no length was set, transformers writes 1e30, which is not a safe integer, so the schema refuses it.
  return parsed.success ? Math.min(maxTokens, parsed.data.model_max_length) : maxTokens;
}

function ignoresCase(tokenizer: Tokenizer): boolean {
  const text = 'The Quick Brown FOX';
  return tokenizer.encode(text).ids.join() === tokenizer.encode(text.toLowerCase()).ids.join();
}

/** @returns undefined if there is no such file. */
async function readBytes(directory: string, name: string): Promise<Uint8Array | undefined> {
  try {
    const bytes = await readFolderFile(directory, name);
    requireNoPointer(bytes, join(directory, name));
    return bytes;
  } catch (thrown) {
    const cause = thrown instanceof ModelFolderError ? thrown.cause : undefined;
    if (isError(cause) && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md */
const POINTER = 'version https://git-lfs.github.com/spec/';

/** @throws ModelFolderError */
function requireNoPointer(bytes: Uint8Array, file: string): void {
  if (Buffer.from(bytes.subarray(0, POINTER.length)).toString('latin1') !== POINTER) return;
  const reason =
    'a Git LFS pointer of a few bytes in place of the file; run `git lfs install && git lfs pull` in its folder';
  throw new ModelFolderError(file, `${reason}, or load the model by its name, owner/name`);
}

/** @returns undefined if there is no such file. @throws ModelFolderError */
export async function readJson(directory: string, name: string): Promise<unknown> {
  const bytes = await readBytes(directory, name);
  if (bytes === undefined) return undefined;
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (cause) {
    throw new ModelFolderError(join(directory, name), reasonOf(cause), { cause });
  }
}

function missing({ name, directory }: BackboneSource, file: string): ModelFolderError {
  return new ModelFolderError(join(directory, file), `the backbone ${name} lacks it${adviceOn(file)}`);
}

const CONVERTS =
  "AutoModelForSequenceClassification.from_pretrained('…').save_pretrained('…') of Python's transformers, or the class that config.json names, writes model.safetensors";

function adviceOn(file: string): string {
  if (file === WEIGHTS_FILE) return `; weights in other formats are not read: ${CONVERTS}`;
  if (!file.includes(TOKENIZER_FILE)) return '';
  const written = "AutoTokenizer.from_pretrained('…').save_pretrained('…') of Python's transformers writes one";
  return `; tokenizers in other formats are not read: ${written}`;
}

function reasonOf(cause: unknown): string {
  return messageOf(cause);
}
