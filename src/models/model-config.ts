import { join } from 'node:path';
import {
  AGGREGATIONS,
  type FamilyName,
  familyNames,
  ModelFolderError,
  type ModelSize,
  type ModelType,
  modelSizes,
  modelTypes,
  type UsageTerms,
} from '../contract/index.js';
import {
  fields,
  flag,
  isInnerName,
  type JsonShape,
  listOf,
  number,
  oneOf,
  recordOf,
  requireShape,
  shortText,
  text,
  whole,
} from '../system/index.js';
import {
  CONFIG_FILE,
  ENCODER_FILE,
  MAX_CONFIG_BYTES,
  ONNX_FILE,
  QUANTIZED_ONNX_FILE,
  readJsonText,
} from './folder-files.js';

/** How outputs are blended: encoder · the encoder's outputs + expert · the lexical expert's outputs + bias. */
export interface BlendWeights {
  /** The encoder's weight, 0 or more. */
  readonly encoder: number;
  /** The lexical expert's weight, 0 or more. */
  readonly expert: number;
  /** One for each output. */
  readonly bias: readonly number[];
}

/** Hugging Face's fields, which are not checked here, and Orchard's under `orchard`. */
export interface ModelFolderConfig {
  readonly [field: string]: unknown;
  readonly architectures: string[];
  readonly id2label: Record<string, string>;
  readonly label2id: Record<string, number>;
  readonly problem_type?: 'single_label_classification' | 'multi_label_classification';
  readonly orchard: OrchardConfig;
}

/** docs/lexical.md, "Scores that mean something". */
export interface Evidence {
  /** Dev rows of the calibration. */
  readonly rows: number;
  /** The share of known n-grams, 0 to 1, that 95 % of the dev rows reach. */
  readonly coverage: number;
  /** Below this score, 0 to 1, none of the labels fits. */
  readonly none_below: number;
}

/** How sentence-transformers pools token states. Several are concatenated. */
export const POOLING_MODES = ['cls', 'max', 'mean', 'mean_sqrt_len_tokens', 'weightedmean', 'lasttoken'] as const;
export type PoolingMode = (typeof POOLING_MODES)[number];

export const SENTENCE_ACTIVATIONS = ['Identity', 'Tanh', 'ReLU', 'Sigmoid', 'SiLU'] as const;
export type SentenceActivation = (typeof SENTENCE_ACTIVATIONS)[number];

/** A module of sentence-transformers after Pooling. Layer n has its weights in {@link SENTENCE_FILE} as `n.weight` etc. */
export interface SentenceLayer {
  readonly type: 'Dense' | 'LayerNorm' | 'Normalize';
  /** Of a Dense layer. */
  readonly activation?: SentenceActivation;
  /** Whether a Dense layer's input is added to its output. */
  readonly residual?: boolean;
}

export const SIMILARITIES = ['cosine', 'dot', 'euclidean', 'manhattan'] as const;

/** How a sentence encoder makes a vector of a text's token states, as sentence-transformers defines it. */
export interface SentenceConfig {
  /** Of the token states. */
  readonly width: number;
  readonly pooling: readonly PoolingMode[];
  /** Whether the tokens of a prompt are pooled, too. */
  readonly include_prompt: boolean;
  readonly layers: readonly SentenceLayer[];
  /** Put before a text, by their names. */
  readonly prompts: Readonly<Record<string, string>>;
  readonly default_prompt?: string;
  /** How search compares vectors. */
  readonly similarity: (typeof SIMILARITIES)[number];
}

export type Aggregation = (typeof AGGREGATIONS)[number];

export interface PairConfig {
  /** What is applied to the output. */
  readonly activation: SentenceActivation;
  /** Put before the first text. */
  readonly prompt: string;
}

interface OrchardConfig {
  /** The version of the folder's layout. */
  readonly format: 1;
  readonly family: FamilyName;
  readonly type: ModelType;
  readonly size: ModelSize;
  /** The encoder has its dimensions, whatever `size` says. */
  readonly backbone?: string;
  /** Labels by id. A binary model has two labels and one logit. */
  readonly labels: string[];
  /** `none`: outputs for every token. */
  readonly pooling: 'first' | 'mean' | 'none';
  /**
   * Of a model that labels tokens: how they become entities, as in transformers' pipeline. `simple` joins tokens, `first`
   * joins words, each with the label of its first token. Absent: words are labelled (docs/entities.md).
   */
  readonly aggregation?: Aggregation;
  /** What tokens that continue a word begin with: `##`. Absent: a token begins a word if a space precedes it. */
  readonly continuing_prefix?: string;
  /** How models that label words split a text. */
  readonly words?: 'whitespace' | 'punctuation' | 'marks' | 'characters';
  /** `capitals`: token type 1 marks each token with a capital letter. Absent: all token types are 0. */
  readonly token_types?: 'capitals';
  /** Whether the lexical expert reads lower case; for the encoder, the tokenizer decides. */
  readonly lowercase: boolean;
  /** Maximum number of tokens that are read at once, special tokens included. */
  readonly max_tokens: number;
  /** Tokens that neighbouring windows share. The default depends on `pooling`. */
  readonly window_overlap?: number;
  /** How joined texts are read. Absent: texts are single. */
  readonly parts?: 'pair' | 'prompt';
  /** Of an encoder of sentences. */
  readonly sentence?: SentenceConfig;
  /** Of a cross-encoder, which reads pairs of texts and gives one number. */
  readonly pairs?: PairConfig;
  /** Other files that inference needs. */
  readonly files: readonly string[];
  /** `blend` was fitted to its outputs. Default: float32. */
  readonly graph?: typeof ONNX_FILE | typeof QUANTIZED_ONNX_FILE | typeof ENCODER_FILE;
  readonly blend?: BlendWeights;
  /** Absent: scores are not calibrated, and a label always fits. */
  readonly evidence?: Evidence;
  /** Absent: any use. */
  readonly licence?: UsageTerms;
  /** How many rules the folder's rules.json has. Absent: there are none. */
  readonly rules?: number;
}

/** The memory of attention grows with the square. */
const MAX_TOKENS_AT_ONCE = 8192;
const MAX_FILES = 32;

const MAX_REASONS = 100;

const name = shortText(500);
/** Fitted weights are 0 to 100; much larger ones would overflow float32. */
const MAX_WEIGHT = 1e6;
const weight = number(0, MAX_WEIGHT);
const bias = number(-MAX_WEIGHT, MAX_WEIGHT);

const innerName: JsonShape<string> = (value, problem): value is string => {
  if (typeof value === 'string' && isInnerName(value)) return true;
  problem.expected = 'the name of a file inside the folder';
  return false;
};

const sentenceShape: JsonShape<SentenceConfig> = fields(
  {
    width: whole(1),
    pooling: listOf(oneOf(...POOLING_MODES)),
    include_prompt: flag,
    layers: listOf(
      fields(
        { type: oneOf('Dense', 'LayerNorm', 'Normalize') },
        { activation: oneOf(...SENTENCE_ACTIVATIONS), residual: flag },
        'refused',
      ),
    ),
    prompts: recordOf(text),
    similarity: oneOf(...SIMILARITIES),
  },
  { default_prompt: text },
  'refused',
);

const orchardShape: JsonShape<OrchardConfig> = fields(
  {
    format: oneOf(1),
    family: oneOf(...familyNames),
    type: oneOf(...modelTypes),
    size: oneOf(...modelSizes),
    labels: listOf(text),
    pooling: oneOf('first', 'mean', 'none'),
    lowercase: flag,
    max_tokens: whole(1, MAX_TOKENS_AT_ONCE),
    files: listOf(innerName, MAX_FILES),
  },
  {
    backbone: name,
    aggregation: oneOf(...AGGREGATIONS),
    continuing_prefix: name,
    words: oneOf('whitespace', 'punctuation', 'marks', 'characters'),
    token_types: oneOf('capitals'),
    window_overlap: whole(0),
    parts: oneOf('pair', 'prompt'),
    sentence: sentenceShape,
    pairs: fields({ activation: oneOf(...SENTENCE_ACTIVATIONS), prompt: text }, {}, 'refused'),
    graph: oneOf(ONNX_FILE, QUANTIZED_ONNX_FILE, ENCODER_FILE),
    blend: fields({ encoder: weight, expert: weight, bias: listOf(bias) }, {}, 'refused'),
    evidence: fields({ rows: whole(1), coverage: number(0, 1), none_below: number(0, 1) }, {}, 'refused'),
    licence: fields({ commercial_use: flag, reasons: listOf(text, MAX_REASONS) }, { alternative: text }, 'refused'),
    rules: whole(1),
  },
  'refused',
);

const configShape: JsonShape<ModelFolderConfig> = fields(
  {
    architectures: listOf(text),
    id2label: recordOf(text),
    label2id: recordOf(whole()),
    orchard: orchardShape,
  },
  { problem_type: oneOf('single_label_classification', 'multi_label_classification') },
);

/** @throws ModelFolderError */
export function modelFolderConfig(json: unknown, file: string): ModelFolderConfig {
  const config = requireShape(configShape, json, file);
  const { max_position_embeddings: positions, orchard } = config;
  if (typeof positions === 'number' && orchard.max_tokens > positions) {
    const reason = `orchard.max_tokens: ${orchard.max_tokens}, but the encoder has positions for ${positions}`;
    throw new ModelFolderError(file, reason);
  }
  return config;
}

/** @throws ModelFolderError */
export async function readConfig(directory: string): Promise<ModelFolderConfig> {
  const { json } = await readJsonText(directory, CONFIG_FILE, MAX_CONFIG_BYTES);
  return modelFolderConfig(json, join(directory, CONFIG_FILE));
}
