import type { FamilyName, ModelSize, ModelType } from '../contract/index.js';
import { documentedModelTypes, familyNames, modelSizes } from '../contract/index.js';
import { ModelFolderError } from '../errors.js';
import { isInnerName } from '../files/index.js';
import {
  fields,
  flag,
  type JsonShape,
  listOf,
  number,
  oneOf,
  recordOf,
  requireShape,
  shortText,
  text,
  whole,
} from '../json-shape.js';
import type { UsageTerms } from '../usage-terms.js';
import { ONNX_FILE, QUANTIZED_ONNX_FILE } from './files.js';

/**
 * How the outputs of encoder and lexical expert are mixed: encoder · the encoder's outputs + expert · the
 * expert's outputs + bias.
 */
export interface BlendWeights {
  /** The encoder's weight, 0 or more. */
  readonly encoder: number;
  /** The lexical expert's weight, 0 or more. */
  readonly expert: number;
  /** One per output. */
  readonly bias: readonly number[];
}

/**
 * The config.json of a model folder: Hugging Face's fields, which other libraries read, and ours under
 * `orchard`. The encoder's own fields pass through; encoder/ checks them where a training starts.
 */
export interface ModelFolderConfig {
  readonly [field: string]: unknown;
  readonly architectures: string[];
  readonly id2label: Record<string, string>;
  readonly label2id: Record<string, number>;
  readonly problem_type?: 'single_label_classification' | 'multi_label_classification';
  readonly orchard: OrchardConfig;
}

/** What a classifier's scores rest on: docs/lexical.md, "Scores that mean something". */
export interface Evidence {
  /** The dev rows that the scores were calibrated on. */
  readonly rows: number;
  /** The share of a text's n-grams that are known: nineteen of twenty dev rows have at least this, 0 to 1. */
  readonly coverage: number;
  /** An answer with a lower score is none of the labels, 0 to 1. */
  readonly none_below: number;
}

interface OrchardConfig {
  /** Raised when the folder's layout changes in a way that older versions can't read. */
  readonly format: 1;
  readonly family: FamilyName;
  readonly type: ModelType;
  readonly size: ModelSize;
  /**
   * The name of the backbone that the encoder was trained from. The encoder then has the backbone's
   * geometry, and `size` only says what was asked for.
   */
  readonly backbone?: string;
  /** Every label by id; a binary model has two here and one logit. */
  readonly labels: string[];
  /** How hidden states become one vector per text; `none` if there is an output for every token. */
  readonly pooling: 'first' | 'mean' | 'none';
  /** How a text is split into the words that get labels, in models that label words. */
  readonly words?: 'whitespace' | 'punctuation' | 'marks' | 'characters';
  /**
   * What token types mean: `capitals`, 1 for each piece with a capital letter. Absent: nothing, all are 0.
   */
  readonly token_types?: 'capitals';
  /** Whether the lexical expert folds texts to lower case; for the encoder the tokenizer decides. */
  readonly lowercase: boolean;
  /** The most tokens that are read at once, including the special ones. */
  readonly max_tokens: number;
  /**
   * How many pieces neighbouring windows of a long text share. Absent: as text-reader/ says for `pooling`.
   */
  readonly window_overlap?: number;
  /** Further files that running the model needs. */
  readonly files: readonly string[];
  /** The graph to run; `blend` was fitted to its outputs. Absent: the one in float32. */
  readonly graph?: typeof ONNX_FILE | typeof QUANTIZED_ONNX_FILE;
  /** Absent if there is no lexical expert. */
  readonly blend?: BlendWeights;
  /** Absent: scores are as the blend gives them, and no answer is none of the labels. */
  readonly evidence?: Evidence;
  /** In pretrained models, what their own data allow. Absent: nothing in them stands in the way of any use. */
  readonly licence?: UsageTerms;
}

/** As many tokens as any encoder of BERT's kind reads at once; attention takes memory by their square. */
const MAX_TOKENS_AT_ONCE = 8192;
/** More than any family has. */
const MAX_FILES = 32;

/** More than a model has sources of data. */
const MAX_REASONS = 100;

/** Of a backbone. */
const name = shortText(500);
/** Weights that were fitted are 0 to 100; larger ones would leave float32. */
const MAX_WEIGHT = 1e6;
const weight = number(0, MAX_WEIGHT);
const bias = number(-MAX_WEIGHT, MAX_WEIGHT);

const innerName: JsonShape<string> = (value, problem): value is string => {
  if (typeof value === 'string' && isInnerName(value)) return true;
  problem.expected = 'the name of a file inside the folder';
  return false;
};

const orchardShape: JsonShape<OrchardConfig> = fields(
  {
    format: oneOf(1),
    family: oneOf(...familyNames),
    type: oneOf(...documentedModelTypes),
    size: oneOf(...modelSizes),
    labels: listOf(text),
    pooling: oneOf('first', 'mean', 'none'),
    lowercase: flag,
    max_tokens: whole(1, MAX_TOKENS_AT_ONCE),
    files: listOf(innerName, MAX_FILES),
  },
  {
    backbone: name,
    words: oneOf('whitespace', 'punctuation', 'marks', 'characters'),
    token_types: oneOf('capitals'),
    window_overlap: whole(0),
    graph: oneOf(ONNX_FILE, QUANTIZED_ONNX_FILE),
    blend: fields({ encoder: weight, expert: weight, bias: listOf(bias) }, {}, 'refused'),
    evidence: fields({ rows: whole(1), coverage: number(0, 1), none_below: number(0, 1) }, {}, 'refused'),
    licence: fields(
      { commercial_use: flag, reasons: listOf(text, MAX_REASONS) },
      { alternative: text },
      'refused',
    ),
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

/** A parsed config.json, checked. @param file named in errors. @throws ModelFolderError */
export function modelFolderConfig(json: unknown, file: string): ModelFolderConfig {
  const config = requireShape(configShape, json, file);
  const { max_position_embeddings: positions, orchard } = config;
  if (typeof positions === 'number' && orchard.max_tokens > positions) {
    const reason = `orchard.max_tokens: ${orchard.max_tokens}, but the encoder has positions for ${positions}`;
    throw new ModelFolderError(file, reason);
  }
  return config;
}
