import { join } from 'node:path';
import type { Device, ExecutionProvider } from '../device-names.js';
import { isOrchardError, ModelFolderError } from '../errors.js';
import { familyOfModel } from '../families/index.js';
import { type LoadedGraph, onnxExecutor } from '../graph/index.js';
import { CONFIG_FILE, ONNX_FILE, openModelFolder } from '../model-folder/index.js';
import { outputsByText, type TextOutputs, TextReader, type TextWindow } from '../text-reader/index.js';
import { BatchWork, type ModelParts, type WorkOptions, type WorkSlice } from './batch-work.js';
import { checkReading } from './check-reading.js';
import { checkedGraph } from './checked-graph.js';
import { type DeviceGraph, type DeviceUse, openDeviceGraph } from './device-graph.js';
import { EncoderRuns } from './encoder-runs.js';
import { memoryOfModel } from './model-size.js';
import { nativeWork } from './native-work.js';
import { SharedTokenizers } from './shared-tokenizers.js';

/** One loaded model: tokenizer, graph and decoder. Its work blocks its thread while the graph runs. */
export class TextModel {
  readonly #parts: ModelParts;

  readonly #graph: DeviceGraph;

  private constructor(
    parts: ModelParts,
    graph: DeviceGraph,
    /** Approximate memory that it takes, in bytes. */
    readonly bytes: number,
  ) {
    this.#parts = parts;
    this.#graph = graph;
  }

  /** Where it computes now. */
  get deviceUse(): DeviceUse {
    return this.#graph.use;
  }

  /**
   * @param directory a model folder.
   * @param threads the most that a run may use that has the machine for itself; all others use one.
   * @param tokenizers shared with other models of the same thread.
   * @param device where it computes. A device that fails is replaced by the CPU.
   * @throws ModelFolderError for a file that is missing or does not fit
   */
  static async load(
    directory: string,
    threads: number,
    tokenizers = new SharedTokenizers(),
    device: Device = 'cpu',
  ): Promise<TextModel> {
    const { config, files, onnxPath, ...folder } = await openModelFolder(directory);
    const family = familyOfModel(config, join(directory, CONFIG_FILE));
    const tokenizer = tokenizers.load(folder.tokenizerKey, folder.tokenizer, folder.tokenizerConfig);
    checkReading(directory, config, tokenizer);
    const decode = await family.decoder(config, files);
    // A device computes in float32: it would leave 8-bit products to the CPU.
    const open = (on: ExecutionProvider) =>
      on === 'cpu' ? loadGraph(onnxPath, 1) : loadGraph(join(directory, ONNX_FILE), 1, on);
    const graph = await openDeviceGraph(device, open);
    const [output] = graph.outputs;
    if (output?.type !== 'float32') throw new ModelFolderError(onnxPath, 'the graph has no float32 output');
    const reader = new TextReader(tokenizer, config.orchard);
    const runs = new EncoderRuns({
      narrow: graph,
      openWide: threads > 1 && graph.use.device === 'cpu' ? () => loadGraph(onnxPath, threads) : undefined,
      output,
      pad: tokenizer.specialTokens.pad,
    });
    const bytes = [...files.values()].reduce((sum, file) => sum + file.bytes.length, graph.bytes);
    return new TextModel({ reader, runs, decode }, graph, memoryOfModel(bytes));
  }

  /** The work that texts are, to be done in slices. */
  begin(texts: readonly string[], options: WorkOptions = {}): BatchWork {
    return new BatchWork(this.#parts, texts, options);
  }

  /** Results in the order of the texts, however these were grouped into runs. */
  predict(texts: readonly string[], options: WorkOptions = {}): Promise<WorkSlice> {
    return this.begin(texts, options).advance(Number.POSITIVE_INFINITY);
  }

  /** Outputs of the encoder with its head for each text, in the order of the texts. */
  async encode(texts: readonly string[]): Promise<TextOutputs[]> {
    const { reader, runs } = this.#parts;
    const windows = reader.read(texts);
    const computed = new Map<TextWindow, Float32Array>();
    for await (const _ of runs.compute(windows, computed));
    return outputsByText(texts.length, windows, (window) => computed.get(window) ?? new Float32Array());
  }

  release(): Promise<void> {
    return this.#parts.runs.release();
  }
}

async function loadGraph(
  path: string,
  threads: number,
  provider: ExecutionProvider = 'cpu',
): Promise<LoadedGraph> {
  try {
    const executor = onnxExecutor({ provider, threads, idleSpinning: false });
    return checkedGraph(await nativeWork(() => executor.load(path)), path);
  } catch (cause) {
    if (isOrchardError(cause)) throw cause;
    throw new ModelFolderError(path, "the graph can't be loaded", { cause });
  }
}
