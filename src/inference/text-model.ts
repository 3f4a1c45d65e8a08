import { stat } from 'node:fs/promises';
import { err, Result, ResultAsync } from 'neverthrow';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import type { InferenceResult } from '../contract/index.js';
import { InternalError, ModelFolderError, type OrchardError, toOrchardError } from '../errors.js';
import {
  type Decoder,
  type Family,
  familyNamed,
  type TextOutputs,
  type TextWindow,
  type WindowOutputs,
} from '../families/index.js';
import { createSession, int64Tensor } from '../graph/index.js';
import { type ModelFolderConfig, openModelFolder } from '../model-folder/index.js';
import {
  type EncodeOptions,
  type Encoding,
  encodingWindows,
  markCapitals,
  type Tokenizer,
} from '../tokenizer/index.js';
import { lengthGroups } from './length-groups.js';
import { SharedTokenizers } from './shared-tokenizers.js';

/** Padded tokens that one run may hold: the runtime keeps the memory of its largest run for good. */
const MAX_TOKENS_PER_RUN = 4096;
/** Share of a window of a long text that the next one reads again. */
const WINDOW_OVERLAP = 1 / 4;

/** One loaded model: tokenizer, graph and decoder. `predict` blocks its thread while the graph runs. */
export class TextModel {
  private constructor(
    private readonly longTexts: Family['longTexts'],
    private readonly decode: Decoder,
    private readonly config: ModelFolderConfig,
    private readonly tokenizer: Tokenizer,
    private readonly session: InferenceSession,
    /** Memory it takes, roughly: the size of its files. */
    readonly bytes: number,
  ) {}

  /** @param directory a model folder. @param tokenizers of the models that may share one; all of one thread. */
  static load(
    directory: string,
    threads: number,
    tokenizers = new SharedTokenizers(),
  ): ResultAsync<TextModel, OrchardError> {
    return openModelFolder(directory).andThen((folder) => {
      const family = familyNamed(folder.config.orchard.family);
      if (family === undefined) {
        return err(
          new ModelFolderError(directory, `no family ${folder.config.orchard.family} is known here`),
        );
      }
      const parts = Result.combine([
        tokenizers.load(folder.tokenizer, folder.tokenizerConfig),
        family.decoder(folder.config, folder.files),
      ]);
      return parts.asyncAndThen(([tokenizer, decode]) =>
        ResultAsync.fromPromise(
          Promise.all([createSession(folder.onnxPath, threads), stat(folder.onnxPath)]),
          (cause) => new ModelFolderError(folder.onnxPath, 'the graph does not load', { cause }),
        ).map(([session, { size }]) => {
          const files = [...folder.files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
          return new TextModel(family.longTexts, decode, folder.config, tokenizer, session, size + files);
        }),
      );
    });
  }

  /** Results in the order of the texts, whatever runs they were grouped into. */
  predict(texts: readonly string[]): ResultAsync<InferenceResult[], OrchardError> {
    const decode = (outputs: readonly TextOutputs[]) =>
      texts.map((text, row) => this.decode(text, outputs[row] ?? []));
    return ResultAsync.fromPromise(this.#encode(texts).then(decode), (thrown) =>
      toOrchardError(thrown, 'inference'),
    );
  }

  /** What the encoder and its head make of each text, in the order of the texts. */
  encode(texts: readonly string[]): ResultAsync<TextOutputs[], OrchardError> {
    return ResultAsync.fromPromise(this.#encode(texts), (thrown) => toOrchardError(thrown, 'inference'));
  }

  release(): Promise<void> {
    return this.session.release();
  }

  async #encode(texts: readonly string[]): Promise<TextOutputs[]> {
    const windows = texts.flatMap((text, row) => this.#windows(text, row));
    const lengths = windows.map(({ encoding }) => encoding.ids.length);
    const outputs = new Map<TextWindow, Float32Array>();
    for (const group of lengthGroups(lengths, MAX_TOKENS_PER_RUN)) {
      const run = group.flatMap((position) => windows[position] ?? []);
      const data = await this.#run(run.map(({ encoding }) => encoding));
      const width = data.length / run.length;
      for (const [row, window] of run.entries()) {
        outputs.set(window, data.subarray(row * width, (row + 1) * width));
      }
    }
    const byText = Array.from(texts, (): WindowOutputs[] => []);
    for (const window of windows) {
      const data = outputs.get(window) ?? new Float32Array();
      byText[window.row]?.push({ encoding: window.encoding, outputs: data });
    }
    return byText;
  }

  #windows(text: string, row: number): TextWindow[] {
    const { max_tokens: maxLength } = this.config.orchard;
    if (this.longTexts === 'truncate') return [{ row, encoding: this.#encoding(text, { maxLength }) }];
    const overlap = Math.floor(maxLength * WINDOW_OVERLAP);
    const windows = encodingWindows(this.#encoding(text), maxLength, overlap);
    return windows.map((encoding) => ({ row, encoding }));
  }

  #encoding(text: string, options?: EncodeOptions): Encoding {
    const encoding = this.tokenizer.encode(text, options);
    return this.config.orchard.token_types === 'capitals' ? markCapitals(text, encoding) : encoding;
  }

  /** The outputs of one run, text after text; rows of padding come with those that answer for each token. */
  async #run(encodings: readonly Encoding[]): Promise<Float32Array> {
    const [output] = Object.values(await this.session.run(this.#feeds(encodings)));
    if (output?.data instanceof Float32Array) return output.data;
    throw new InternalError('the graph has no float32 output');
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
