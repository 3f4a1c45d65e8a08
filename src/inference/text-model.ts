import { join } from 'node:path';
import {
  type Device,
  type ExecutionProvider,
  InstallationError,
  isOrchardError,
  ModelFolderError,
  messageOf,
  type Runtime,
} from '../contract/index.js';
import {
  type Decoder,
  familyOfModel,
  type RuleSet,
  ruledAnswers,
  ruledDecoder,
  rulesOfFolder,
} from '../families/index.js';
import { type DeviceUse, type LoadedGraph, onnxExecutor, openDeviceGraph, runtimeProblem } from '../graph/index.js';
import {
  CONFIG_FILE,
  type ModelFolderConfig,
  memoryOfModel,
  ONNX_FILE,
  openModelFolder,
  RULES_FILE,
  readFolderFile,
  TOKENIZER_FILE,
} from '../models/index.js';
import { withPauses } from '../system/index.js';
import {
  loadTokenizer,
  outputsByText,
  type TextOutputs,
  TextReader,
  type TextWindow,
  type Tokenizer,
  withTimeLimit,
} from '../text/index.js';
import {
  BatchWork,
  checkNumbers,
  checkReading,
  type ModelParts,
  type WorkOptions,
  type WorkSlice,
} from './batch-work.js';
import { EncoderRuns, nativeWork } from './encoder-runs.js';
import type { RuntimeUse } from './worker.js';

/** One tokenizer for all models with equal tokenizer files, kept as long as one of the models. */
export class SharedTokenizers {
  readonly #tokenizers = new Map<string, WeakRef<Tokenizer>>();

  /** @param key the text of both files, which are given parsed. @throws ModelFolderError */
  load(key: string, json: unknown, config: unknown): Tokenizer {
    for (const [other, tokenizer] of this.#tokenizers) {
      if (tokenizer.deref() === undefined) this.#tokenizers.delete(other);
    }
    const known = this.#tokenizers.get(key)?.deref();
    if (known !== undefined) return known;
    const tokenizer = loadTokenizer(json, config);
    this.#tokenizers.set(key, new WeakRef(tokenizer));
    return tokenizer;
  }
}

/** The inputs of every graph, and that of encoders that read token types. */
const INPUTS = ['attention_mask', 'input_ids'];
const TYPES = 'token_type_ids';
/** Symbolic dimensions. */
const SYMBOLS = ['batch', 'tokens'];
/** Outputs for each text, or for each token. */
const MAX_OUTPUTS = 65_536;

/** A graph whose failures name the folder. @throws ModelFolderError if it is no encoder; in runs, for outputs out of range. */
function checkedGraph(graph: LoadedGraph, path: string): LoadedGraph {
  const reason = reasonAgainst(graph);
  if (reason !== undefined) throw new ModelFolderError(path, reason);
  return {
    inputs: graph.inputs,
    outputs: graph.outputs,
    bytes: graph.bytes,
    async run(feeds, outputs) {
      try {
        await graph.run(feeds, outputs);
      } catch (cause) {
        if (isOrchardError(cause)) throw cause;
        const told = messageOf(cause);
        throw new ModelFolderError(path, `the graph can't read a text: ${told}`, { cause });
      }
      for (const { data } of Object.values(outputs)) if (data instanceof Float32Array) checkNumbers(data, path);
    },
    release: () => graph.release(),
  };
}

function reasonAgainst({ inputs, outputs }: LoadedGraph): string | undefined {
  const names = inputs.map(({ name }) => name).sort();
  const needed = names.filter((name) => name !== TYPES);
  if (needed.join() !== INPUTS.join())
    return `the graph takes ${told(names)}, not ${INPUTS.join(', ')} and perhaps ${TYPES}`;
  const input = inputs.find(({ type, shape }) => type !== 'int64' || shape.join() !== SYMBOLS.join());
  if (input !== undefined) return `its input ${input.name} is not int64 [batch, tokens]`;
  const [output, ...more] = outputs;
  if (output?.type !== 'float32') return 'the graph has no float32 output';
  if (more.length > 0) return `the graph has ${outputs.length} outputs, not one`;
  const [first, ...others] = output.shape;
  const width = others.at(-1);
  const isWidth = typeof width === 'number' && width >= 1 && width <= MAX_OUTPUTS;
  const isRead = first === 'batch' && isWidth && (others.length === 1 || others.slice(0, -1).join() === 'tokens');
  if (isRead) return undefined;
  return `its output is [${told(output.shape)}], not [batch, outputs] or [batch, tokens, outputs]`;
}

const told = (names: readonly (string | number)[]): string => names.join(', ').slice(0, 200);

/** Where a model computes. */
interface Place {
  /** Default cpu. */
  readonly device?: Device | undefined;
  /** Default auto. */
  readonly runtime?: Runtime | undefined;
}

/** An encoder with its head, and what computes it. */
interface OpenEncoder {
  readonly runs: Pick<EncoderRuns, 'plan' | 'run'>;
  /** Of its file. */
  readonly bytes: number;
  readonly runtimeUse: RuntimeUse;
  deviceUse(): DeviceUse;
  release(): Promise<void>;
}

interface EncoderFolder {
  readonly directory: string;
  readonly config: ModelFolderConfig;
  readonly onnxPath: string;
  /** The id of the token that fills rows. */
  readonly pad: number;
  /** Most threads of a run. */
  readonly threads: number;
}

/** @throws InstallationError where the runtime is missing; ModelFolderError */
async function openEncoder(folder: EncoderFolder, { device = 'cpu', runtime = 'auto' }: Place): Promise<OpenEncoder> {
  if (runtime === 'wasm') return passOf(folder, { runtime }, { device: 'cpu' });
  const problem = await nativeWork(runtimeProblem);
  if (problem === undefined) return graphOf(folder, device);
  const { missing, advice, message } = problem;
  if (runtime === 'onnx') {
    const instead = "to run models in WebAssembly instead, use `runtime: 'auto'` or `runtime: 'wasm'`";
    throw new InstallationError(missing, `${advice}; ${instead}`, { cause: problem });
  }
  const use: DeviceUse = { device: 'cpu', ...(device !== 'cpu' && device !== 'auto' && { failure: message }) };
  try {
    return await passOf(folder, { runtime: 'wasm', failure: message }, use);
  } catch (cause) {
    if (!isOrchardError(cause) || cause.code !== 'model_folder') throw cause;
    throw new InstallationError(missing, `${advice}; WebAssembly can't replace it for this model: ${cause.message}`, {
      cause,
    });
  }
}

async function graphOf({ directory, onnxPath, pad, threads }: EncoderFolder, device: Device): Promise<OpenEncoder> {
  // A device computes in float32: it would leave 8-bit products to the CPU.
  const open = (on: ExecutionProvider) =>
    on === 'cpu' ? loadGraph(onnxPath, 1) : loadGraph(join(directory, ONNX_FILE), 1, on);
  const graph = await openDeviceGraph(device, open);
  const [output] = graph.outputs;
  if (output?.type !== 'float32') throw new ModelFolderError(onnxPath, 'the graph has no float32 output');
  const runs = new EncoderRuns({
    narrow: graph,
    openWide: threads > 1 && graph.use.device === 'cpu' ? () => loadGraph(onnxPath, threads) : undefined,
    ...{ output, pad, isOnDevice: graph.use.device !== 'cpu' },
  });
  const use = { runtimeUse: { runtime: 'onnx' as const }, deviceUse: () => graph.use };
  return { runs, bytes: graph.bytes, ...use, release: () => runs.release() };
}

async function passOf(
  { directory, config, onnxPath }: EncoderFolder,
  runtimeUse: RuntimeUse,
  deviceUse: DeviceUse,
): Promise<OpenEncoder> {
  const { openPass, PassRuns } = await import('./encoder-pass.js');
  const graph = await readFolderFile(directory, config.orchard.graph ?? ONNX_FILE);
  const pass = openPass({ config, configFile: join(directory, CONFIG_FILE), graph, graphFile: onnxPath });
  const runs = new PassRuns(pass, onnxPath);
  return { runs, bytes: graph.length, runtimeUse, deviceUse: () => deviceUse, release: async () => undefined };
}

/** One loaded model: tokenizer, graph and decoder. Its work blocks its thread while the graph runs. */
export class TextModel {
  readonly #parts: ModelParts;

  readonly #encoder: OpenEncoder;

  private constructor(
    parts: ModelParts,
    encoder: OpenEncoder,
    /** Approximate memory in bytes. */
    readonly bytes: number,
  ) {
    this.#parts = parts;
    this.#encoder = encoder;
  }

  /** Where it computes now. */
  get deviceUse(): DeviceUse {
    return this.#encoder.deviceUse();
  }

  get runtimeUse(): RuntimeUse {
    return this.#encoder.runtimeUse;
  }

  /**
   * @param tokenizers shared with other models of the thread
   * @throws ModelFolderError for a file that doesn't fit, InstallationError where the runtime is missing
   */
  static async load(
    directory: string,
    threads: number,
    tokenizers = new SharedTokenizers(),
    place: Place = {},
  ): Promise<TextModel> {
    const { config, files, onnxPath, ...folder } = await openModelFolder(directory);
    const family = familyOfModel(config, join(directory, CONFIG_FILE));
    const tokenizer = tokenizers.load(folder.tokenizerKey, folder.tokenizer, folder.tokenizerConfig);
    const places = { configFile: join(directory, CONFIG_FILE), tokenizerFile: join(directory, TOKENIZER_FILE) };
    checkReading(config, tokenizer, places);
    const plain = await family.decoder(config, files, tokenizer);
    const rulesPlace = { file: join(directory, RULES_FILE), limit: withTimeLimit };
    const own = await withPauses(rulesOfFolder(config, files, rulesPlace));
    const answers = ruledAnswers(family.answerView, config.orchard);
    const decoderWith = (rules: RuleSet | false | undefined): Decoder => {
      const applied = rules ?? own;
      return applied ? ruledDecoder(plain, applied, answers) : plain;
    };
    const { pad } = tokenizer.specialTokens;
    const encoder = await openEncoder({ directory, config, onnxPath, pad, threads }, place);
    const reader = new TextReader(tokenizer, config.orchard);
    const bytes = [...files.values()].reduce((sum, file) => sum + file.bytes.length, encoder.bytes);
    return new TextModel({ reader, runs: encoder.runs, decoderWith }, encoder, memoryOfModel(bytes));
  }

  /** Starts to answer texts, in slices. */
  begin(texts: readonly string[], options: WorkOptions = {}): BatchWork {
    return new BatchWork(this.#parts, texts, options);
  }

  predict(texts: readonly string[], options: WorkOptions = {}): Promise<WorkSlice> {
    return this.begin(texts, options).advance(Number.POSITIVE_INFINITY);
  }

  /** Outputs of the encoder with its head for each text. */
  async encode(texts: readonly string[]): Promise<TextOutputs[]> {
    const { reader, runs } = this.#parts;
    const windows = reader.read(texts);
    const computed = new Map<TextWindow, Float32Array>();
    for (const run of runs.plan(windows)) await runs.run(run, false, computed);
    return outputsByText(texts.length, windows, (window) => computed.get(window) ?? new Float32Array());
  }

  release(): Promise<void> {
    return this.#encoder.release();
  }
}

async function loadGraph(path: string, threads: number, provider: ExecutionProvider = 'cpu'): Promise<LoadedGraph> {
  try {
    const executor = onnxExecutor({ provider, threads, idleSpinning: false });
    return checkedGraph(await nativeWork(() => executor.load(path)), path);
  } catch (cause) {
    if (isOrchardError(cause)) throw cause;
    throw new ModelFolderError(path, "the graph can't be loaded", { cause });
  }
}
