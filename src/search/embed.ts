import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  callResult,
  DEVICES,
  type Device,
  implementation,
  ModelFolderError,
  type OrchardError,
  querySchema,
  RUNTIMES,
  type Runtime,
  requireOptions,
  signalSchema,
  validate,
} from '../contract/index.js';
import type { JudgedResult } from '../families/index.js';
import { askAll, type ModelHandle, type OpenOptions, openFolder } from '../inference/index.js';
import {
  CONFIG_FILE,
  type FoundModel,
  findModel,
  folderState,
  type ModelFolderConfig,
  type ModelLoader,
  modelAsOfNow,
  readUnchanged,
  type SentenceConfig,
} from '../models/index.js';
import { mapWithPauses, TemporaryDirectory, validateWithPauses } from '../system/index.js';
import { joinParts } from '../text/index.js';
import { ENCODER_FILES, namedFiles, writeSentenceEncoder } from '../training/index.js';
import { type Prompt, promptText, requireDifferent } from './sentence-vectors.js';

/** `embed`: the vectors of texts, from an encoder that stays open between calls. */

/** Options of {@link embed}. */
export interface EmbedOptions {
  /**
   * The name of a backbone or pretrained model, `owner/name` on the Hugging Face Hub, or the folder of a backbone or model.
   * Default `english-mini`.
   */
  readonly model?: string | undefined;
  /** Loads models that are not folders. Default: the catalogue, the backbones and, for `owner/name`, the Hub. */
  readonly modelLoader?: ModelLoader | undefined;
  /** `cpu`, the name of a device, or `auto`. Default `cpu`. */
  readonly device?: Device | undefined;
  /** What runs the encoder: `onnx`, `wasm` or `auto`, as for `loadModel`. Default `auto`. */
  readonly runtime?: Runtime | undefined;
  /**
   * The prompt to put before each text: the name of one of the model's prompts, or `{ text }` for a prompt of your own.
   * A model that has no prompt `query` or `document` reads the texts without one. Default: the model's
   * `default_prompt_name`, if it has one.
   */
  readonly prompt?: Prompt | undefined;
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_ENCODER = 'english-mini';

export const embedSchema = z.strictObject({
  model: z.string().min(1, 'the name is empty').default(DEFAULT_ENCODER),
  modelLoader: implementation<ModelLoader>(['load'], 'pass a model loader, such as hubModels()').optional(),
  device: z.enum(DEVICES).default('cpu'),
  runtime: z.enum(RUNTIMES).default('auto'),
  signal: signalSchema.optional(),
});
const optionsSchema = embedSchema.extend({
  prompt: z.union([z.string().min(1), z.strictObject({ text: z.string() })]).optional(),
});
const textsSchema = z.array(querySchema);

/**
 * Computes the vector of each text, in the order of the texts. Texts with similar meanings have similar vectors.
 *
 * A model of sentence-transformers gives the vectors that its `modules.json` defines: its poolings, its Dense,
 * LayerNorm and Normalize layers, its prompts and its `max_seq_length`. The vector of any other model is the mean of
 * the states of a text's first 256 tokens, of unit length, so that the dot product of two vectors is their cosine.
 *
 * The two encoders used last stay open for the next call, and are opened again if a file of theirs has changed. Fails
 * with a ValidationError, also if the encoder knows no word of the texts, so that all vectors are the same; a
 * NotFoundError that lists what exists; a ModelFolderError that names the module or setting that can't be computed
 * here; or an AbortedError.
 */
export function embed(
  texts: readonly string[],
  options: EmbedOptions = {},
): ResultAsync<readonly Float32Array[], OrchardError> {
  const work = async () => {
    const { prompt, ...settings } = validate(optionsSchema, requireOptions(options ?? {}, '`embed(texts, { model })`'));
    const { model, signal } = settings;
    const asked = { ...settings, model: modelAsOfNow(model) };
    const checked = await validateWithPauses(textsSchema, texts, ['texts']);
    const vectors = await withSentenceEncoder(asked, (encoder) => encoder.vectors(checked, { prompt, signal }));
    requireDifferent(checked, vectors, model);
    return vectors;
  };
  return callResult(work(), 'encoding texts');
}

/** Opens the encoder unless it is open. @throws what finding and opening an encoder throws, and what `work` throws */
export async function withSentenceEncoder<Value>(
  { model = DEFAULT_ENCODER, modelLoader, device = 'cpu', runtime = 'auto', signal }: Omit<EmbedOptions, 'prompt'>,
  work: (encoder: SentenceEncoder) => Promise<Value>,
): Promise<Value> {
  const placed = await findEncoder(model, { modelLoader, signal });
  const service = { device, runtime };
  const open = () => SentenceEncoder.ofModel(placed, { service });
  return encoders.use(encoderKey(placed, service), open, work);
}

interface FoundEncoder extends FoundModel {
  /** Further files; see {@link namedFiles}. */
  readonly named: readonly string[];
}

/** Changes with any file of the encoder. `loadModel` tells by the same state whether a folder has changed. */
export function encoderKey(
  { directory, named }: FoundEncoder,
  { device, runtime }: { readonly device: Device; readonly runtime: Runtime },
): string {
  const folders = new Set([directory, ...named.map((name) => dirname(join(directory, name)))]);
  return [device, runtime, directory, ...[...folders].map((folder) => folderState(folder).stamp)].join(' ');
}

/** @throws NotFoundError that lists what exists, ModelDownloadError, StorageError, AbortedError */
export async function findEncoder(
  model: string,
  { modelLoader, signal }: Pick<EmbedOptions, 'modelLoader' | 'signal'>,
): Promise<FoundEncoder> {
  const find = (files: readonly string[]) => findModel(model, { modelLoader, backbones: true, files, signal });
  const found = await find(ENCODER_FILES);
  const named = await namedFiles(found.directory);
  return { ...(named.length === 0 ? found : await find([...ENCODER_FILES, ...named])), named };
}

interface OpenEncoder<Encoder> {
  readonly encoder: Promise<Encoder>;
  calls: number;
}

/** Keeps open the encoders in use and the few used last, and closes the others. */
export class OpenEncoders<Encoder extends { close(): Promise<void> }> {
  /** By key, the one used last at the end. */
  readonly #opened = new Map<string, OpenEncoder<Encoder>>();
  readonly #mostIdle: number;

  constructor(mostIdle: number) {
    this.#mostIdle = mostIdle;
  }

  /**
   * Keeps an encoder open while `work` uses it.
   * @param open called if no encoder with this key is open. After a failure, the next call opens it again.
   * @throws any error of `open` and `work`
   */
  async use<Value>(
    key: string,
    open: () => Promise<Encoder>,
    work: (encoder: Encoder) => Promise<Value>,
  ): Promise<Value> {
    const opened = this.#opened.get(key) ?? { encoder: open(), calls: 0 };
    this.#opened.delete(key);
    this.#opened.set(key, opened);
    opened.calls += 1;
    try {
      const encoder = await opened.encoder.catch((thrown: unknown) => {
        if (this.#opened.get(key) === opened) this.#opened.delete(key);
        throw thrown;
      });
      return await work(encoder);
    } finally {
      opened.calls -= 1;
      await this.#closeIdle();
    }
  }

  async #closeIdle(): Promise<void> {
    const idle = [...this.#opened].filter(([, { calls }]) => calls === 0);
    const closing = idle.slice(0, Math.max(0, idle.length - this.#mostIdle));
    for (const [key] of closing) this.#opened.delete(key);
    await Promise.all(closing.map(async ([, { encoder }]) => (await encoder).close()));
  }
}

/** Each open encoder takes threads, and memory for its weights. */
const encoders = new OpenEncoders<SentenceEncoder>(2);

export type EncoderOptions = Pick<OpenOptions, 'service' | 'signal'>;

interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** Texts of different accounts take turns. */
  readonly account?: string | undefined;
}

type OrchardConfig = ModelFolderConfig['orchard'];
type WriteEncoder = (model: FoundModel, directory: string) => Promise<void>;

/** A folder that {@link writeSentenceEncoder} or {@link writePairEncoder} has written, and the threads that run it. */
export class RunningEncoder {
  readonly name: string;
  readonly directory: string;
  readonly config: OrchardConfig;
  readonly #model: ModelHandle;

  private constructor(directory: string, model: ModelHandle) {
    this.config = model.config.orchard;
    this.name = this.config.backbone ?? CONFIG_FILE;
    this.directory = directory;
    this.#model = model;
  }

  /**
   * All of it is of one model, even if another model replaces the folder meanwhile.
   * @throws ModelFolderError, StorageError, AbortedError, and what `write` throws
   */
  static async written(model: FoundModel, write: WriteEncoder, options: EncoderOptions): Promise<RunningEncoder> {
    const open = () => RunningEncoder.#writtenOnce(model, write, options);
    return (await readUnchanged(model.directory, open, (mixed) => mixed.close())).value;
  }

  static async #writtenOnce(model: FoundModel, write: WriteEncoder, options: EncoderOptions): Promise<RunningEncoder> {
    const temporary = new TemporaryDirectory();
    try {
      const directory = join(await temporary.path(), 'encoder');
      await write(model, directory);
      return await RunningEncoder.open(directory, options, temporary);
    } catch (thrown) {
      await temporary.remove();
      throw thrown;
    }
  }

  /** @param temporary removed when the encoder is closed. @throws ModelFolderError, AbortedError */
  static async open(
    directory: string,
    options: EncoderOptions,
    temporary?: TemporaryDirectory,
  ): Promise<RunningEncoder> {
    const onClose = temporary && (() => temporary.remove());
    return new RunningEncoder(directory, await openFolder({ name: 'an encoder', directory }, { ...options, onClose }));
  }

  /** The results of each text, in their order. @throws AbortedError, ClosedError, OverloadedError */
  async results(texts: Iterable<string>, { signal, account }: AskOptions): Promise<readonly JudgedResult[]> {
    return (await askAll(this.#model, this.name, texts, { signal }, account)).results;
  }

  /** The numbers of each text, in their order. @throws AbortedError, ClosedError, OverloadedError */
  async numbers(texts: Iterable<string>, options: AskOptions): Promise<(readonly number[])[]> {
    return (await this.results(texts, options)).map(({ scores }) => scores);
  }

  close(): Promise<void> {
    return this.#model.close();
  }
}

/** Turns texts into vectors, in worker threads. */
export class SentenceEncoder {
  readonly settings: SentenceConfig;
  readonly #running: RunningEncoder;

  private constructor(running: RunningEncoder) {
    const { sentence } = running.config;
    if (sentence === undefined) {
      const file = join(running.directory, CONFIG_FILE);
      throw new ModelFolderError(file, 'orchard.sentence is missing; index the passages again');
    }
    this.settings = sentence;
    this.#running = running;
  }

  /** The encoder of a backbone or of a trained model. @throws ModelFolderError, StorageError, AbortedError */
  static async ofModel(model: FoundModel, options: EncoderOptions): Promise<SentenceEncoder> {
    return new SentenceEncoder(await RunningEncoder.written(model, writeSentenceEncoder, options));
  }

  /**
   * The encoder of a model as it was opened, even if another model has replaced its folder since.
   * @throws ModelFolderError, also if its files were overwritten; StorageError, AbortedError
   */
  static async ofOpenModel(model: FoundModel, handle: ModelHandle, options: EncoderOptions): Promise<SentenceEncoder> {
    const write: WriteEncoder = (_, target) =>
      handle.read(async (directory) => {
        await rm(target, { recursive: true, force: true }); // what was written before a change was seen
        await writeSentenceEncoder({ ...model, directory }, target);
      }, ENCODER_FILES);
    return new SentenceEncoder(await RunningEncoder.written(model, write, options));
  }

  /** @param directory a copy of an encoder's {@link directory}. @throws ModelFolderError, AbortedError */
  static async ofFolder(directory: string, options: EncoderOptions): Promise<SentenceEncoder> {
    return new SentenceEncoder(await RunningEncoder.open(directory, options));
  }

  get name(): string {
    return this.#running.name;
  }

  /** A folder that {@link ofFolder} opens. */
  get directory(): string {
    return this.#running.directory;
  }

  /** The vectors of texts, in their order. @throws ValidationError for an unknown prompt, AbortedError, ClosedError, OverloadedError */
  async vectors(texts: readonly string[], { prompt, ...options }: VectorOptions = {}): Promise<Float32Array[]> {
    const before = promptText(this.settings, prompt);
    const { include_prompt } = this.settings;
    const asked = await mapWithPauses(texts, (text) => (include_prompt ? before + text : joinParts(before, text)));
    const vectors = await this.#running.numbers(asked, options);
    return mapWithPauses(vectors, (vector) => Float32Array.from(vector));
  }

  close(): Promise<void> {
    return this.#running.close();
  }
}

interface VectorOptions extends AskOptions {
  readonly prompt?: Prompt | undefined;
}
