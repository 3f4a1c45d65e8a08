import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import {
  DEVICES,
  type Device,
  implementation,
  type OrchardError,
  querySchema,
  toOrchardError,
  ValidationError,
  validate,
} from '../contract/index.js';
import { askAll, type InferenceService, type OpenOptions, serviceFor } from '../inference/index.js';
import { CONFIG_FILE, type FoundModel, findModel, type ModelLoader, readConfig } from '../models/index.js';
import { TemporaryDirectory } from '../system/index.js';
import { writeSentenceEncoder } from '../training/index.js';

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
  readonly signal?: AbortSignal | undefined;
}

export const embedSchema = z.strictObject({
  model: z.string().min(1, 'the name is empty').default('english-mini'),
  modelLoader: implementation<ModelLoader>(['load'], 'pass a model loader, such as hubModels()').optional(),
  device: z.enum(DEVICES).default('cpu'),
  signal: z.instanceof(AbortSignal).optional(),
});
const textsSchema = z.array(querySchema);

/**
 * Turns texts into vectors of unit length, in the order of the texts. The dot product of two vectors is their cosine;
 * texts with similar meanings have similar vectors. Only the first 256 tokens of a text are read. The two encoders used
 * last stay open for the next call.
 * Fails with a ValidationError, also if the encoder knows no word of different texts, so that all their vectors are the same; a
 * NotFoundError that lists what exists, a ModelFolderError or an AbortedError.
 */
export function embed(
  texts: readonly string[],
  options: EmbedOptions = {},
): ResultAsync<readonly Float32Array[], OrchardError> {
  const work = async () => {
    const checked = validate(textsSchema, texts, ['texts']);
    const { model, modelLoader, device, signal } = validate(embedSchema, options ?? {});
    const placed = await findModel(model, { modelLoader, backbones: true, signal });
    const { ino, mtimeMs } = await stat(placed.directory); // these change when another model replaces the folder
    const key = `${device} ${placed.directory} ${ino} ${mtimeMs}`;
    const open = () => SentenceEncoder.ofModel(placed, { service: { device } });
    const vectors = await encoders.use(key, open, (encoder) => encoder.vectors(checked, signal));
    requireDifferent(checked, vectors, model);
    return vectors;
  };
  return ResultAsync.fromPromise(work(), (thrown) => toOrchardError(thrown, 'encoding texts'));
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

/** Turns texts into vectors of unit length, in worker threads. */
export class SentenceEncoder {
  readonly name: string;
  /** A folder that {@link ofFolder} opens. */
  readonly directory: string;
  readonly #service: InferenceService;
  readonly #temporary: TemporaryDirectory | undefined;

  private constructor({ name, directory }: FoundModel, service: InferenceService, temporary?: TemporaryDirectory) {
    this.name = name;
    this.directory = directory;
    this.#service = service;
    this.#temporary = temporary;
  }

  /** The encoder of a backbone or of a trained model. @throws ModelFolderError, StorageError, AbortedError */
  static async ofModel(model: FoundModel, options: EncoderOptions): Promise<SentenceEncoder> {
    const temporary = new TemporaryDirectory();
    try {
      const placed = { name: model.name, directory: join(await temporary.path(), 'encoder') };
      await writeSentenceEncoder(model, placed.directory);
      return new SentenceEncoder(placed, await serviceFor(placed, options), temporary);
    } catch (thrown) {
      await temporary.remove();
      throw thrown;
    }
  }

  /** @param directory a copy of an encoder's {@link directory}. @throws ModelFolderError, AbortedError */
  static async ofFolder(directory: string, options: EncoderOptions): Promise<SentenceEncoder> {
    const { orchard } = await readConfig(directory);
    const placed = { name: orchard.backbone ?? CONFIG_FILE, directory };
    return new SentenceEncoder(placed, await serviceFor(placed, options));
  }

  /** The vectors of texts, in their order. @throws AbortedError, ClosedError, OverloadedError */
  async vectors(texts: Iterable<string>, signal?: AbortSignal): Promise<Float32Array[]> {
    const results = await askAll(this.#service, this, texts, { signal });
    return results.map(({ scores }) => Float32Array.from(scores));
  }

  async close(): Promise<void> {
    await this.#service.close();
    await this.#temporary?.remove();
  }
}
