import { join } from 'node:path';
import { AbortedError } from '../../errors.js';
import { TemporaryDirectory } from '../../files/index.js';
import type { ServiceOptions } from '../../inference/index.js';
import { CONFIG_FILE, readConfig } from '../../model-folder/index.js';
import { Predictor } from '../../predictor/index.js';
import { memoryStorage } from '../../storage/index.js';
import { writeSentenceEncoder } from '../../training/index.js';
import { onlyModel, type PlacedModel } from '../base-model.js';

/** How an encoder is opened. */
export interface EncoderOptions {
  readonly service: ServiceOptions;
  readonly signal?: AbortSignal | undefined;
}

/** Turns texts into vectors of unit length, in worker threads, with a predictor of its own. */
export class SentenceEncoder {
  readonly #predictor: Predictor;
  readonly #name: string;
  readonly #directory: string;
  readonly #made: TemporaryDirectory | undefined;

  private constructor(placed: PlacedModel, made: TemporaryDirectory | undefined, service: ServiceOptions) {
    this.#name = placed.name;
    this.#directory = placed.directory;
    this.#made = made;
    this.#predictor = new Predictor({ ...service, storage: memoryStorage(), modelLoader: onlyModel(placed) });
  }

  /** The encoder of a backbone or of a trained model. @throws ModelFolderError, StorageError, AbortedError */
  static async ofModel(placed: PlacedModel, { service, signal }: EncoderOptions): Promise<SentenceEncoder> {
    const made = new TemporaryDirectory();
    try {
      const directory = join(await made.path(), 'encoder');
      await writeSentenceEncoder(placed, directory);
      return await SentenceEncoder.#open({ name: placed.name, directory }, made, { service, signal });
    } catch (thrown) {
      await made.remove();
      throw thrown;
    }
  }

  /** One of such a folder. @throws ModelFolderError, AbortedError */
  static async ofFolder(directory: string, options: EncoderOptions): Promise<SentenceEncoder> {
    const { orchard } = await readConfig(directory);
    return SentenceEncoder.#open({ name: orchard.backbone ?? CONFIG_FILE, directory }, undefined, options);
  }

  static async #open(
    placed: PlacedModel,
    made: TemporaryDirectory | undefined,
    { service, signal }: EncoderOptions,
  ): Promise<SentenceEncoder> {
    const encoder = new SentenceEncoder(placed, made, service);
    const warmed = await encoder.#predictor.warm([placed.name], signal && { signal });
    if (warmed.isOk()) return encoder;
    await encoder.close();
    throw warmed.error;
  }

  /** What it was made from. */
  get name(): string {
    return this.#name;
  }

  /** The vectors of texts, in their order. @throws ValidationError, AbortedError, ClosedError, OverloadedError */
  async vectors(texts: Iterable<string>, signal?: AbortSignal): Promise<Float32Array[]> {
    const vectors: Float32Array[] = [];
    const answers = this.#predictor.predictPretrainedStream(this.#name, texts, signal && { signal });
    for await (const answer of answers) {
      if (signal?.aborted) throw new AbortedError('encoding texts', { cause: signal.reason });
      if (answer.isErr()) throw answer.error;
      vectors.push(Float32Array.from(answer.value.data.scores));
    }
    return vectors;
  }

  /** Its files: {@link ofFolder} opens a copy of them. */
  get directory(): string {
    return this.#directory;
  }

  async close(): Promise<void> {
    await this.#predictor.close();
    await this.#made?.remove();
  }
}
