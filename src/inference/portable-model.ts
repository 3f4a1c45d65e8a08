import { ModelFolderError, messageOf } from '../contract/index.js';
import {
  type AnsweringFamily,
  answering,
  type Decoder,
  familyNameOfModel,
  type ModelFiles,
  type RuleSet,
  ruling,
  type TimeLimit,
  unitVector,
} from '../families/index.js';
import {
  CONFIG_FILE,
  type ModelFolderConfig,
  modelFolderConfig,
  ONNX_FILE,
  RULES_FILE,
  type Rule,
  TOKENIZER_CONFIG_FILE,
  TOKENIZER_FILE,
} from '../models/index.js';
import { type Steps, utf8Text } from '../system/index.js';
import { loadBertStyleTokenizer, TextReader, type Tokenizer } from '../text/index.js';
import type { ForwardPass, PassOutput } from '../wasm/index.js';
import { BatchWork, checkReading, type WorkOptions, type WorkSlice } from './batch-work.js';
import { openPass, PassRuns } from './encoder-pass.js';

/** Files of a model's folder, wherever they are. @throws ModelFolderError, ModelDownloadError, StorageError */
export type ReadModelFile = (name: string) => Promise<Uint8Array>;

/** What the encoder of a text is asked for, in place of the model's own outputs. */
const MEAN_STATE: PassOutput = { pooling: 'mean', classifier: false };
/** How many tokens of a text `embed` reads, as for every model that isn't one of sentence-transformers. */
const EMBEDDED_TOKENS = 256;

/** A model that runs wherever JavaScript runs: its encoder is a {@link ForwardPass}, and nothing of it needs Node. */
export class PortableModel {
  readonly config: ModelFolderConfig;
  readonly family: AnsweringFamily;
  /** Those of its folder. */
  readonly rules: readonly Rule[];
  readonly #reader: TextReader;
  readonly #embedded: TextReader;
  readonly #pass: ForwardPass;
  readonly #runs: PassRuns;
  readonly #decoders: Decoders;

  private constructor(
    config: ModelFolderConfig,
    family: AnsweringFamily,
    tokenizer: Tokenizer,
    pass: ForwardPass,
    decoders: Decoders,
  ) {
    this.config = config;
    this.family = family;
    this.rules = decoders.rules;
    this.#reader = new TextReader(tokenizer, config.orchard);
    const max_tokens = Math.min(EMBEDDED_TOKENS, config.orchard.max_tokens);
    this.#embedded = new TextReader(tokenizer, { max_tokens, pooling: 'mean' });
    this.#pass = pass;
    this.#runs = new PassRuns(pass, config.orchard.graph ?? ONNX_FILE);
    this.#decoders = decoders;
  }

  /**
   * @param run takes the steps of preparing rules, with pauses.
   * @throws ModelFolderError for a model of another architecture or a file that doesn't fit, and what `read` and `run` throw
   */
  static async open(read: ReadModelFile, run: RunSteps): Promise<PortableModel> {
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
    const plain = await family.decoder(config, files, tokenizer);
    const decoders = await ruledDecoders(plain, family, { config, files, run });
    const pass = openPass({ config, configFile: CONFIG_FILE, graph, graphFile });
    return new PortableModel(config, family, tokenizer, pass, decoders);
  }

  /** Approximate memory in bytes, without the lexical expert. */
  get bytes(): number {
    return this.#pass.bytes;
  }

  /** Starts to answer texts, in slices. */
  begin(texts: readonly string[], options: WorkOptions = {}): PortableWork {
    return new BatchWork({ reader: this.#reader, runs: this.#runs, decoderWith: this.#decoders.with }, texts, options);
  }

  /** The vector of a text: what `orchard.sentence` defines, or the mean of its first tokens' states, of unit length. */
  vectorOf(text: string): Float32Array {
    if (this.config.orchard.sentence === undefined) {
      const [window] = this.#embedded.windowsOf(text, 0);
      return window === undefined ? new Float32Array() : unitVector(this.#pass.run(window.encoding, MEAN_STATE));
    }
    const windows = this.#reader.windowsOf(text, 0);
    const outputs = windows.map(({ encoding }) => ({ encoding, outputs: this.#pass.run(encoding) }));
    return Float32Array.from(this.#decoders.with(undefined)(text, outputs).scores);
  }
}

/** Takes the steps of a computation, with pauses. */
export type RunSteps = <Value>(steps: Steps<Value>) => Promise<Value>;

interface Decoders {
  readonly rules: readonly Rule[];
  /** @param rules false: without those of the folder. */
  readonly with: (rules: RuleSet | false | undefined) => Decoder;
}

interface RulesSource {
  readonly config: ModelFolderConfig;
  readonly files: ModelFiles;
  readonly run: RunSteps;
}

/** Nothing but the platform could end a pattern that takes too long, and none but Node does. */
const unlimited: TimeLimit = (_limitMs, work) => work();

/** @throws ModelFolderError */
async function ruledDecoders(
  plain: Decoder,
  { answerView }: AnsweringFamily,
  { config, files, run }: RulesSource,
): Promise<Decoders> {
  if (config.orchard.rules === undefined) return { rules: [], with: () => plain };
  const { ruledAnswers, ruledDecoder, rulesOfFolder } = await ruling();
  const set = await run(rulesOfFolder(config, files, { file: RULES_FILE, limit: unlimited }));
  if (set === undefined) return { rules: [], with: () => plain };
  const ruled = ruledDecoder(plain, set, ruledAnswers(answerView, config.orchard));
  return { rules: set.rules, with: (rules) => (rules === false ? plain : ruled) };
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
  if (orchard.pairs === undefined) return;
  const reason = 'orchard.pairs: it is a cross-encoder, which runs only in Node.js; call rerank there';
  throw new ModelFolderError(CONFIG_FILE, reason);
}
