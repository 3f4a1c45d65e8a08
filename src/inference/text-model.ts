import { join } from 'node:path';
import { ModelFolderError } from '../errors.js';
import { type Decoder, modelKind } from '../families/index.js';
import { type LoadedGraph, onnxExecutor } from '../graph/index.js';
import { CONFIG_FILE, openModelFolder } from '../model-folder/index.js';
import { outputsByText, type TextOutputs, TextReader, type TextWindow } from '../text-reader/index.js';
import { checkReading } from './check-reading.js';
import { checkedGraph } from './checked-graph.js';
import { type ComputeOptions, EncoderRuns } from './encoder-runs.js';
import type { BatchAnswer, StageTimes } from './lane.js';
import { SharedTokenizers } from './shared-tokenizers.js';

/** What a model answers to some texts. */
export interface ModelAnswer extends Omit<BatchAnswer, 'times'> {
  readonly times: Omit<StageTimes, 'load'>;
}

/** One loaded model: tokenizer, graph and decoder. `predict` blocks its thread while the graph runs. */
export class TextModel {
  readonly #reader: TextReader;
  readonly #runs: EncoderRuns;
  readonly #decode: Decoder;

  private constructor(
    reader: TextReader,
    runs: EncoderRuns,
    decode: Decoder,
    /** Approximate memory that it takes: the size of its files. */
    readonly bytes: number,
  ) {
    this.#reader = reader;
    this.#runs = runs;
    this.#decode = decode;
  }

  /**
   * @param directory a model folder.
   * @param threads the most that a run may use that has the machine for itself; all others use one.
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
    const tokenizer = tokenizers.load(folder.tokenizerKey, folder.tokenizer, folder.tokenizerConfig);
    checkReading(directory, config, tokenizer);
    const decode = await family.decoder(config, files);
    const graph = await loadGraph(onnxPath, 1);
    const [output] = graph.outputs;
    if (output?.type !== 'float32') throw new ModelFolderError(onnxPath, 'the graph has no float32 output');
    const reader = new TextReader(tokenizer, config.orchard);
    const runs = new EncoderRuns({
      narrow: graph,
      openWide: threads > 1 ? () => loadGraph(onnxPath, threads) : undefined,
      output,
      pad: tokenizer.specialTokens.pad,
    });
    const bytes = [...files.values()].reduce((sum, file) => sum + file.bytes.length, graph.bytes);
    return new TextModel(reader, runs, decode, bytes);
  }

  /** Results in the order of the texts, however these were grouped into runs. */
  async predict(texts: readonly string[], options: ComputeOptions = {}): Promise<ModelAnswer> {
    const startedAt = performance.now();
    const windows = this.#reader.read(texts);
    const readAt = performance.now();
    const computed = await this.#runs.compute(windows, options);
    const computedAt = performance.now();
    const outputs = byText(texts.length, windows, computed);
    const results = texts.map((text, row) =>
      options.cancelled?.has(row) ? undefined : this.#decode(text, outputs[row] ?? []),
    );
    return {
      results,
      truncated: truncatedTexts(windows),
      tokens: windows.reduce((sum, { encoding }) => sum + encoding.ids.length, 0),
      times: {
        tokenize: readAt - startedAt,
        run: computedAt - readAt,
        decode: performance.now() - computedAt,
      },
    };
  }

  /** Outputs of the encoder with its head for each text, in the order of the texts. */
  async encode(texts: readonly string[]): Promise<TextOutputs[]> {
    const windows = this.#reader.read(texts);
    return byText(texts.length, windows, await this.#runs.compute(windows));
  }

  release(): Promise<void> {
    return this.#runs.release();
  }
}

function byText(
  texts: number,
  windows: readonly TextWindow[],
  computed: ReadonlyMap<TextWindow, Float32Array>,
): TextOutputs[] {
  return outputsByText(texts, windows, (window) => computed.get(window) ?? new Float32Array());
}

function truncatedTexts(windows: readonly TextWindow[]): number[] {
  return [...new Set(windows.flatMap(({ row, encoding }) => (encoding.truncated > 0 ? [row] : [])))];
}

async function loadGraph(path: string, threads: number): Promise<LoadedGraph> {
  try {
    return checkedGraph(await onnxExecutor({ threads, idleSpinning: false }).load(path), path);
  } catch (cause) {
    if (cause instanceof ModelFolderError) throw cause;
    throw new ModelFolderError(path, "the graph can't be loaded", { cause });
  }
}
