import { ModelFolderError, messageOf } from '../contract/index.js';
import { type AnsweringFamily, answering, type Decoder, familyNameOfModel } from '../families/index.js';
import {
  CONFIG_FILE,
  type ModelFolderConfig,
  modelFolderConfig,
  ONNX_FILE,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
} from '../models/index.js';
import { utf8Text } from '../system/index.js';
import { loadBertStyleTokenizer, TextReader, type Tokenizer } from '../text/index.js';
import type { ForwardPass, PassOutput } from '../wasm/index.js';
import { BatchWork, checkReading, type WorkOptions, type WorkSlice } from './batch-work.js';
import { openPass, PassRuns } from './encoder-pass.js';

/** Files of a model's folder, wherever they are. @throws ModelFolderError, ModelDownloadError, StorageError */
export type ReadModelFile = (name: string) => Promise<Uint8Array>;

/** What the encoder of a text is asked for, in place of the model's own outputs. */
const MEAN_STATE: PassOutput = { pooling: 'mean', classifier: false };
/** `embed` reads so many tokens of a text, as for any model that isn't one of sentence-transformers. */
const EMBEDDED_TOKENS = 256;

/** A model that runs wherever JavaScript runs: its encoder is a {@link ForwardPass}, and nothing of it needs Node. */
export class PortableModel {
  readonly config: ModelFolderConfig;
  readonly family: AnsweringFamily;
  readonly #reader: TextReader;
  readonly #embedded: TextReader;
  readonly #pass: ForwardPass;
  readonly #runs: PassRuns;
  readonly #decode: Decoder;

  private constructor(
    config: ModelFolderConfig,
    family: AnsweringFamily,
    tokenizer: Tokenizer,
    pass: ForwardPass,
    decode: Decoder,
  ) {
    this.config = config;
    this.family = family;
    this.#reader = new TextReader(tokenizer, config.orchard);
    const max_tokens = Math.min(EMBEDDED_TOKENS, config.orchard.max_tokens);
    this.#embedded = new TextReader(tokenizer, { max_tokens, pooling: 'mean' });
    this.#pass = pass;
    this.#runs = new PassRuns(pass, config.orchard.graph ?? ONNX_FILE);
    this.#decode = decode;
  }

  /** @throws ModelFolderError for a model of another architecture or a file that doesn't fit, and what `read` throws */
  static async open(read: ReadModelFile): Promise<PortableModel> {
    const config = modelFolderConfig(await readJson(read, CONFIG_FILE), CONFIG_FILE);
    const { orchard } = config;
    const family = answering[familyNameOfModel(config, CONFIG_FILE)];
    const graphFile = orchard.graph ?? ONNX_FILE;
    const [json, settings, graph, ...contents] = await Promise.all([
      readJson(read, TOKENIZER_FILE),
      readJson(read, TOKENIZER_CONFIG_FILE),
      read(graphFile),
      ...orchard.files.map(read),
    ]);
    refuseUnread(config);
    const tokenizer = loadBertStyleTokenizer(json, settings);
    checkReading(config, tokenizer, { configFile: CONFIG_FILE, tokenizerFile: TOKENIZER_FILE });
    const files = new Map(
      orchard.files.map((file, at) => [file, { bytes: contents[at] ?? new Uint8Array(), file }] as const),
    );
    const decode = await family.decoder(config, files, tokenizer);
    const pass = openPass({ config, configFile: CONFIG_FILE, graph, graphFile });
    return new PortableModel(config, family, tokenizer, pass, decode);
  }

  /** Approximate memory in bytes, without the lexical expert. */
  get bytes(): number {
    return this.#pass.bytes;
  }

  /** Starts to answer texts, in slices. */
  begin(texts: readonly string[], options: WorkOptions = {}): PortableWork {
    return new BatchWork({ reader: this.#reader, runs: this.#runs, decoderWith: () => this.#decode }, texts, options);
  }

  /** The mean of the states of a text's first tokens. [width of the encoder] */
  meanState(text: string): Float32Array {
    const [window] = this.#embedded.windowsOf(text, 0);
    return window === undefined ? new Float32Array() : this.#pass.run(window.encoding, MEAN_STATE);
  }
}

/** Work that may pause after each run of the encoder. */
export interface PortableWork {
  /** Continues for about `ms` milliseconds. */
  advance(ms: number): Promise<WorkSlice>;
}

async function readJson(read: ReadModelFile, name: string): Promise<unknown> {
  const text = utf8Text(await read(name));
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ModelFolderError(name, `it is not JSON: ${messageOf(cause)}`, { cause });
  }
}

/** @throws ModelFolderError for what would be ignored without a word */
function refuseUnread({ orchard }: ModelFolderConfig): void {
  if (orchard.rules !== undefined) {
    throw new ModelFolderError(
      CONFIG_FILE,
      "orchard.rules: the web can't apply rules; train or save the model without them",
    );
  }
  if (orchard.parts === 'pair') {
    throw new ModelFolderError(
      CONFIG_FILE,
      "orchard.parts: the web can't read pairs of texts; ask the model in Node.js",
    );
  }
}
