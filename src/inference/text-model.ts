import { stat } from 'node:fs/promises';
import { err, ok, Result, ResultAsync } from 'neverthrow';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import type { InferenceResult } from '../contract/index.js';
import { InternalError, ModelFolderError, type OrchardError, toOrchardError } from '../errors.js';
import { type Decoder, familyNamed } from '../families/index.js';
import { createSession, int64Tensor } from '../graph/index.js';
import { type ModelFolderConfig, openModelFolder } from '../model-folder/index.js';
import { type Encoding, loadTokenizer, type Tokenizer } from '../tokenizer/index.js';
import { lengthGroups } from './length-groups.js';

/** Padded tokens that one run may hold: the runtime keeps the memory of its largest run for good. */
const MAX_TOKENS_PER_RUN = 4096;

/** One loaded model: tokenizer, graph and decoder. `predict` blocks its thread while the graph runs. */
export class TextModel {
  private constructor(
    private readonly decode: Decoder,
    private readonly config: ModelFolderConfig,
    private readonly tokenizer: Tokenizer,
    private readonly session: InferenceSession,
    /** Memory it takes, roughly: the size of its files. */
    readonly bytes: number,
  ) {}

  /** @param directory a model folder. */
  static load(directory: string, threads: number): ResultAsync<TextModel, OrchardError> {
    return openModelFolder(directory).andThen((folder) => {
      const family = familyNamed(folder.config.orchard.family);
      if (family === undefined) {
        return err(
          new ModelFolderError(directory, `no family ${folder.config.orchard.family} is known here`),
        );
      }
      const parts = Result.combine([
        loadTokenizer(folder.tokenizer, folder.tokenizerConfig),
        family.decoder(folder.config, folder.expert),
      ]);
      return parts.asyncAndThen(([tokenizer, decode]) =>
        ResultAsync.fromPromise(
          Promise.all([createSession(folder.onnxPath, threads), stat(folder.onnxPath)]),
          (cause) => new ModelFolderError(folder.onnxPath, 'the graph does not load', { cause }),
        ).map(([session, { size }]) => {
          const bytes = size + (folder.expert?.bytes.length ?? 0);
          return new TextModel(decode, folder.config, tokenizer, session, bytes);
        }),
      );
    });
  }

  /** Results in the order of the texts, whatever runs they were grouped into. */
  predict(texts: readonly string[]): ResultAsync<InferenceResult[], OrchardError> {
    return ResultAsync.fromPromise(this.#predict(texts), (thrown) =>
      toOrchardError(thrown, 'inference'),
    ).andThen((result) => result);
  }

  release(): Promise<void> {
    return this.session.release();
  }

  async #predict(texts: readonly string[]): Promise<Result<InferenceResult[], OrchardError>> {
    const maxLength = this.config.orchard.max_tokens;
    const encodings = texts.map((text) => this.tokenizer.encode(text, { maxLength }));
    const lengths = encodings.map(({ ids }) => ids.length);
    const results = new Map<number, InferenceResult>();
    for (const group of lengthGroups(lengths, MAX_TOKENS_PER_RUN)) {
      const outputs = await this.#run(group.flatMap((position) => encodings[position] ?? []));
      const width = outputs.length / group.length;
      for (const [row, position] of group.entries()) {
        results.set(
          position,
          this.decode(texts[position] ?? '', outputs.subarray(row * width, (row + 1) * width)),
        );
      }
    }
    const inOrder = texts.flatMap((_, position) => results.get(position) ?? []);
    if (inOrder.length === texts.length) return ok(inOrder);
    return err(new InternalError(`${texts.length} texts gave ${inOrder.length} results`));
  }

  async #run(encodings: readonly Encoding[]): Promise<Float32Array> {
    const outputs = await this.session.run(this.#feeds(encodings));
    const logits = outputs.logits?.data;
    if (logits instanceof Float32Array) return logits;
    throw new InternalError('the graph has no float32 output "logits"');
  }

  #feeds(encodings: readonly Encoding[]): Record<string, Tensor> {
    const tokens = Math.max(...encodings.map(({ ids }) => ids.length));
    const dims = [encodings.length, tokens];
    const { pad } = this.tokenizer.specialTokens;
    const ids = new Int64Grid(encodings.length, tokens);
    const mask = new Int64Grid(encodings.length, tokens);
    const types = new Int64Grid(encodings.length, tokens);
    for (const [row, encoding] of encodings.entries()) {
      for (let token = 0; token < tokens; token += 1) {
        ids.set(row, token, encoding.ids[token] ?? pad);
        mask.set(row, token, token < encoding.ids.length ? 1 : 0);
        types.set(row, token, encoding.typeIds[token] ?? 0);
      }
    }
    return {
      input_ids: int64Tensor(ids.values, dims),
      attention_mask: int64Tensor(mask.values, dims),
      token_type_ids: int64Tensor(types.values, dims),
    };
  }
}

/** An int64 matrix of whole numbers from 0 to 2^31 − 1. */
class Int64Grid {
  readonly values: BigInt64Array;
  /** Writing the low halves spares a BigInt a token; every platform of ours is little-endian. */
  readonly #halves: Int32Array;

  constructor(
    rows: number,
    private readonly columns: number,
  ) {
    this.values = new BigInt64Array(rows * columns);
    this.#halves = new Int32Array(this.values.buffer);
  }

  set(row: number, column: number, value: number): void {
    this.#halves[2 * (row * this.columns + column)] = value;
  }
}
