import { join } from 'node:path';
import type { InferenceResult } from '../contract/index.js';
import { ModelFolderError } from '../errors.js';
import { type Decoder, modelKind } from '../families/index.js';
import {
  type LoadedGraph,
  onnxExecutor,
  resolveShape,
  type TensorData,
  type TensorDescription,
  volume,
} from '../graph/index.js';
import { CONFIG_FILE, openModelFolder } from '../model-folder/index.js';
import { outputsByText, type TextOutputs, TextReader, type TextWindow } from '../text-reader/index.js';
import { lengthGroups } from './length-groups.js';
import { SharedTokenizers } from './shared-tokenizers.js';

/** Most tokens of one run, padding included: the runtime never frees the memory of its largest run. */
const MAX_TOKENS_PER_RUN = 4096;

/** One loaded model: tokenizer, graph and decoder. `predict` blocks its thread while the graph runs. */
export class TextModel {
  readonly #reader: TextReader;
  readonly #graph: LoadedGraph;
  readonly #output: TensorDescription;
  readonly #decode: Decoder;

  private constructor(
    reader: TextReader,
    graph: LoadedGraph,
    output: TensorDescription,
    decode: Decoder,
    /** Approximate memory that it takes: the size of its files. */
    readonly bytes: number,
  ) {
    this.#reader = reader;
    this.#graph = graph;
    this.#output = output;
    this.#decode = decode;
  }

  /**
   * @param directory a model folder.
   * @param tokenizers shared with other models of the same thread.
   * @throws ModelFolderError for a file that is missing or does not fit
   */
  static async load(
    directory: string,
    threads: number,
    tokenizers = new SharedTokenizers(),
  ): Promise<TextModel> {
    const { config, files, onnxPath, ...folder } = await openModelFolder(directory);
    const { family } = modelKind(config, join(directory, CONFIG_FILE));
    const tokenizer = tokenizers.load(folder.tokenizer, folder.tokenizerConfig);
    const decode = family.decoder(config, files);
    const graph = await loadGraph(onnxPath, threads);
    const [output] = graph.outputs;
    if (output?.type !== 'float32') throw new ModelFolderError(onnxPath, 'the graph has no float32 output');
    const bytes = [...files.values()].reduce((sum, file) => sum + file.bytes.length, graph.bytes);
    return new TextModel(new TextReader(tokenizer, config.orchard), graph, output, decode, bytes);
  }

  /** Results in the order of the texts, however these were grouped into runs. */
  async predict(texts: readonly string[]): Promise<InferenceResult[]> {
    const outputs = await this.encode(texts);
    return texts.map((text, row) => this.#decode(text, outputs[row] ?? []));
  }

  /** Outputs of the encoder with its head for each text, in the order of the texts. */
  async encode(texts: readonly string[]): Promise<TextOutputs[]> {
    const windows = this.#reader.read(texts);
    const lengths = windows.map(({ encoding }) => encoding.ids.length);
    const computed = new Map<TextWindow, Float32Array>();
    for (const group of lengthGroups(lengths, MAX_TOKENS_PER_RUN)) {
      const run = group.flatMap((position) => windows[position] ?? []);
      const tokens = Math.max(...run.map(({ encoding }) => encoding.ids.length));
      // Models that answer for each token also give rows for padding.
      const dims = resolveShape(this.#output.shape, { batch: run.length, tokens });
      const data = new Float32Array(volume(dims));
      await this.#graph.run(this.#feeds(run, tokens), {
        [this.#output.name]: { type: 'float32', dims, data },
      });
      const width = data.length / run.length;
      for (const [row, window] of run.entries()) {
        computed.set(window, data.subarray(row * width, (row + 1) * width));
      }
    }
    return outputsByText(texts.length, windows, (window) => computed.get(window) ?? new Float32Array());
  }

  release(): Promise<void> {
    return this.#graph.release();
  }

  #feeds(run: readonly TextWindow[], tokens: number): Record<string, TensorData> {
    const { pad } = this.#reader.specialTokens;
    const ids = new Int64Grid(run.length, tokens);
    const mask = new Int64Grid(run.length, tokens);
    const types = new Int64Grid(run.length, tokens);
    for (const [row, { encoding }] of run.entries()) {
      for (let token = 0; token < tokens; token += 1) {
        ids.set(row, token, encoding.ids[token] ?? pad);
        mask.set(row, token, token < encoding.ids.length ? 1 : 0);
        types.set(row, token, encoding.typeIds[token] ?? 0);
      }
    }
    return { input_ids: ids, attention_mask: mask, token_type_ids: types };
  }
}

async function loadGraph(path: string, threads: number): Promise<LoadedGraph> {
  try {
    return await onnxExecutor({ threads }).load(path);
  } catch (cause) {
    throw new ModelFolderError(path, "the graph can't be loaded", { cause });
  }
}

/** An int64 matrix of whole numbers from 0 to 2^31 − 1. */
class Int64Grid {
  readonly type = 'int64';
  readonly dims: readonly number[];
  readonly data: BigInt64Array;
  /** Writing only the low halves saves a BigInt per token; every supported platform is little-endian. */
  readonly #halves: Int32Array;

  readonly #columns: number;

  constructor(rows: number, columns: number) {
    this.#columns = columns;

    this.dims = [rows, columns];
    this.data = new BigInt64Array(rows * columns);
    this.#halves = new Int32Array(this.data.buffer);
  }

  set(row: number, column: number, value: number): void {
    this.#halves[2 * (row * this.#columns + column)] = value;
  }
}
