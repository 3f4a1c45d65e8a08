import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  DEVICES,
  type Device,
  implementation,
  ModelFolderError,
  type OrchardError,
  querySchema,
  toOrchardError,
  ValidationError,
  validate,
} from '../contract/index.js';
import { askAll, type InferenceService, type OpenOptions, serviceFor } from '../inference/index.js';
import {
  CONFIG_FILE,
  type FoundModel,
  findModel,
  type ModelLoader,
  readConfig,
  type SentenceConfig,
} from '../models/index.js';
import { TemporaryDirectory } from '../system/index.js';
import { joinParts } from '../text/index.js';
import { ENCODER_FILES, moduleFiles, writeSentenceEncoder } from '../training/index.js';

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
  /**
   * The name of a prompt of the model, which is put before each text, or `{ text }`, a prompt of your own. `query` and
   * `document` are no prompt for a model that has none of these names. Default: the model's `default_prompt_name`, or none.
   */
  readonly prompt?: Prompt | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What is put before a text: the name of one of the model's prompts, or a text. */
export type Prompt = string | { readonly text: string };

export const embedSchema = z.strictObject({
  model: z.string().min(1, 'the name is empty').default('english-mini'),
  modelLoader: implementation<ModelLoader>(['load'], 'pass a model loader, such as hubModels()').optional(),
  device: z.enum(DEVICES).default('cpu'),
  signal: z.instanceof(AbortSignal).optional(),
});
const optionsSchema = embedSchema.extend({
  prompt: z.union([z.string().min(1), z.strictObject({ text: z.string() })]).optional(),
});
const textsSchema = z.array(querySchema);

/**
 * Turns texts into vectors, in the order of the texts. Texts with similar meanings have similar vectors.
 *
 * A folder of sentence-transformers gives the vectors that it defines: its `modules.json` is followed, with its poolings,
 * Dense, LayerNorm and Normalize layers, prompts and `max_seq_length`. Of any other folder, a vector is the mean of the
 * states of a text's first 256 tokens, of unit length, so that the dot product of two vectors is their cosine.
 *
 * The two encoders used last stay open for the next call.
 * Fails with a ModelFolderError that names a module or setting which can't be computed here; a ValidationError, also if the encoder knows no word of different texts, so that all their vectors are the same; a
 * NotFoundError that lists what exists, or an AbortedError.
 */
export function embed(
  texts: readonly string[],
  options: EmbedOptions = {},
): ResultAsync<readonly Float32Array[], OrchardError> {
  const work = async () => {
    const checked = validate(textsSchema, texts, ['texts']);
    const { model, modelLoader, device, prompt, signal } = validate(optionsSchema, options ?? {});
    const placed = await findEncoder(model, { modelLoader, signal });
    const { ino, mtimeMs } = await stat(placed.directory); // these change when another model replaces the folder
    const key = `${device} ${placed.directory} ${ino} ${mtimeMs}`;
    const open = () => SentenceEncoder.ofModel(placed, { service: { device } });
    const vectors = await encoders.use(key, open, (encoder) => encoder.vectors(checked, { prompt, signal }));
    requireDifferent(checked, vectors, model);
    return vectors;
  };
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, 'encoding texts'));
}

/** @throws NotFoundError that lists what exists, ModelDownloadError, StorageError, AbortedError */
export async function findEncoder(
  model: string,
  { modelLoader, signal }: Pick<EmbedOptions, 'modelLoader' | 'signal'>,
): Promise<FoundModel> {
  const find = (files: readonly string[]) => findModel(model, { modelLoader, backbones: true, files, signal });
  const found = await find(ENCODER_FILES);
  const inner = await moduleFiles(found.directory);
  return inner.length === 0 ? found : find([...ENCODER_FILES, ...inner]);
}

/** @throws ValidationError if several different texts all have the same vector. @param model named in it */
export function requireDifferent(texts: readonly string[], vectors: readonly Float32Array[], model: string): void {
  const [first] = vectors;
  const other = texts.findIndex((text) => folded(text) !== folded(texts[0] ?? ''));
  if (first === undefined || other < 0 || vectors.some((vector) => !isSame(vector, first))) return;
  const msg = `${model} knows no word of this text, nor of any other, so that all have the same vector; choose a model for their language or script`;
  throw new ValidationError([{ loc: ['texts', other], msg, type: 'unfamiliar_text' }]);
}

/** Without what a tokenizer may ignore, too. */
function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{C}\s]/gu, '')
    .toLowerCase();
}

/** Sums of other lengths of a batch differ in their last bits. */
const SAME = 1e-6;

function isSame(a: Float32Array, b: Float32Array): boolean {
  return a.every((value, at) => Math.abs(value - (b[at] ?? 0)) < SAME);
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

/** Turns texts into vectors, in worker threads. */
export class SentenceEncoder {
  readonly name: string;
  /** A folder that {@link ofFolder} opens. */
  readonly directory: string;
  readonly settings: SentenceConfig;
  readonly #service: InferenceService;
  readonly #temporary: TemporaryDirectory | undefined;

  private constructor(
    { name, directory }: FoundModel,
    settings: SentenceConfig,
    service: InferenceService,
    temporary?: TemporaryDirectory,
  ) {
    this.name = name;
    this.directory = directory;
    this.settings = settings;
    this.#service = service;
    this.#temporary = temporary;
  }

  /** The encoder of a backbone or of a trained model. @throws ModelFolderError, StorageError, AbortedError */
  static async ofModel(model: FoundModel, options: EncoderOptions): Promise<SentenceEncoder> {
    const temporary = new TemporaryDirectory();
    try {
      const placed = { name: model.name, directory: join(await temporary.path(), 'encoder') };
      await writeSentenceEncoder(model, placed.directory);
      const { settings } = await readEncoderFolder(placed.directory);
      return new SentenceEncoder(placed, settings, await serviceFor(placed, options), temporary);
    } catch (thrown) {
      await temporary.remove();
      throw thrown;
    }
  }

  /** @param directory a copy of an encoder's {@link directory}. @throws ModelFolderError, AbortedError */
  static async ofFolder(directory: string, options: EncoderOptions): Promise<SentenceEncoder> {
    const { name, settings } = await readEncoderFolder(directory);
    const placed = { name, directory };
    return new SentenceEncoder(placed, settings, await serviceFor(placed, options));
  }

  /** The vectors of texts, in their order. @throws ValidationError for an unknown prompt, AbortedError, ClosedError, OverloadedError */
  async vectors(texts: readonly string[], { prompt, signal }: VectorOptions = {}): Promise<Float32Array[]> {
    const before = promptText(this.settings, prompt);
    const join = this.settings.include_prompt
      ? (text: string) => before + text
      : (text: string) => joinParts(before, text);
    const results = await askAll(this.#service, this, texts.map(join), { signal });
    return results.map(({ scores }) => Float32Array.from(scores));
  }

  async close(): Promise<void> {
    await this.#service.close();
    await this.#temporary?.remove();
  }
}

interface VectorOptions {
  readonly prompt?: Prompt | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Names that mean no prompt where a model has none: sentence-transformers' `encode_query` and `encode_document`. */
const USUAL_PROMPTS: Readonly<Record<string, readonly string[]>> = {
  query: ['query'],
  document: ['document', 'passage', 'corpus'],
};

/** @throws ValidationError that lists the model's prompts */
function promptText({ prompts, default_prompt }: SentenceConfig, prompt: Prompt | undefined): string {
  if (typeof prompt === 'object') return prompt.text;
  const asked = prompt ?? default_prompt;
  if (asked === undefined) return '';
  const usual = USUAL_PROMPTS[asked] ?? [];
  for (const name of [asked, ...usual]) if (Object.hasOwn(prompts, name)) return prompts[name] ?? '';
  if (usual.length > 0) return '';
  const names = Object.keys(prompts);
  const known = names.length === 0 ? 'the model has no prompts' : `its prompts are ${names.join(', ')}`;
  const msg = `${JSON.stringify(asked)} is no prompt of the model: ${known}; give { text: ${JSON.stringify(asked)} } for a prompt of your own`;
  throw new ValidationError([{ loc: ['prompt'], msg, type: 'unknown_prompt' }]);
}

/** @throws ModelFolderError */
async function readEncoderFolder(
  directory: string,
): Promise<{ readonly name: string; readonly settings: SentenceConfig }> {
  const { orchard } = await readConfig(directory);
  if (orchard.sentence !== undefined) return { name: orchard.backbone ?? CONFIG_FILE, settings: orchard.sentence };
  throw new ModelFolderError(join(directory, CONFIG_FILE), 'orchard.sentence is missing; index the passages again');
}
