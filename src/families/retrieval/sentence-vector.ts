import { ModelFolderError } from '../../contract/index.js';
import {
  CONFIG_FILE,
  decodeSafetensors,
  type PairConfig,
  type PoolingMode,
  SENTENCE_FILE,
  type SentenceActivation,
  type SentenceConfig,
  type SentenceLayer,
} from '../../models/index.js';
import type { WindowOutputs } from '../../text/index.js';
import { sigmoid } from '../classification/probabilities.js';
import type { Decoder, ModelFiles } from '../family.js';
import { unitVector } from './vector-index.js';

/** The vector of a text, as `orchard.sentence` defines it. @throws ModelFolderError for weights that are missing or don't fit */
export function sentenceDecoder(settings: SentenceConfig, files: ModelFiles): Decoder {
  const { pooling, width } = settings;
  const layers = layersOf(settings, files);
  const isPooled = pooledByGraph(settings) !== undefined;
  return (_text, [window]) => {
    if (window === undefined) return { labels: [], scores: [] };
    const pooled = isPooled ? window.outputs : poolTokens(window, settings);
    if (pooled.length !== pooling.length * width) {
      const reason = `the graph gives ${pooled.length} numbers for a text, but orchard.sentence has a width of ${width}`;
      throw new ModelFolderError(CONFIG_FILE, reason);
    }
    return { labels: [], scores: Array.from(layers.reduce((vector, layer) => layer(vector), pooled)) };
  };
}

/** The pooling that is part of the graph; undefined if its outputs are the states of all tokens. */
export function pooledByGraph({ pooling, include_prompt }: SentenceConfig): 'first' | 'mean' | undefined {
  const [mode, ...others] = pooling;
  if (others.length > 0 || !include_prompt) return undefined;
  if (mode === 'cls') return 'first';
  return mode === 'mean' ? 'mean' : undefined;
}

/** The score of a pair of texts. */
export function pairDecoder({ activation }: PairConfig): Decoder {
  return (_text, [window]) => ({ labels: [], scores: Array.from(activate(activation, window?.outputs ?? [])) });
}

/** sentence-transformers' Pooling: several modes one after another. [modes * width] */
export function poolTokens(
  { outputs, encoding }: WindowOutputs,
  { pooling, width, include_prompt }: Pick<SentenceConfig, 'pooling' | 'width' | 'include_prompt'>,
): Float32Array {
  const tokens = encoding.ids.length;
  const first = include_prompt ? 0 : Math.min(encoding.promptTokens ?? 0, tokens);
  const pooled = new Float32Array(pooling.length * width);
  for (const [at, mode] of pooling.entries()) {
    pooled.set(poolings[mode]({ states: outputs, width, first, end: tokens }), at * width);
  }
  return pooled;
}

interface TokenStates {
  /** [tokens, width] */
  readonly states: Float32Array;
  readonly width: number;
  /** The first token that is pooled. */
  readonly first: number;
  readonly end: number;
}

const poolings: Readonly<Record<PoolingMode, (tokens: TokenStates) => ArrayLike<number>>> = {
  cls: ({ states, width, first, end }) => rowOf(states, width, first < end ? first : 0),
  lasttoken: ({ states, width, end }) => rowOf(states, width, end - 1),
  max({ states, width, first, end }) {
    const highest = new Float32Array(width).fill(Number.NEGATIVE_INFINITY);
    for (let token = first; token < end; token += 1) {
      for (let at = 0; at < width; at += 1) {
        highest[at] = Math.max(highest[at] ?? 0, states[token * width + at] ?? 0);
      }
    }
    return highest;
  },
  mean: (tokens) => weightedSum(tokens, (sum) => sum),
  mean_sqrt_len_tokens: (tokens) => weightedSum(tokens, Math.sqrt),
  // Positions count from the text's first token, whether it is pooled or not.
  weightedmean: (tokens) =>
    weightedSum(
      tokens,
      (sum) => sum,
      (token) => token + 1,
    ),
};

const rowOf = (states: Float32Array, width: number, row: number) => states.subarray(row * width, (row + 1) * width);

/** Σ weight·state / divisor(Σ weight). */
function weightedSum(
  { states, width, first, end }: TokenStates,
  divisor: (sum: number) => number,
  weightOf: (token: number) => number = () => 1,
): Float64Array {
  const total = new Float64Array(width);
  let weights = 0;
  for (let token = first; token < end; token += 1) {
    const weight = weightOf(token);
    weights += weight;
    for (let at = 0; at < width; at += 1) {
      total[at] = (total[at] ?? 0) + weight * (states[token * width + at] ?? 0);
    }
  }
  const by = divisor(Math.max(weights, 1e-9));
  return total.map((value) => value / by);
}

type Layer = (x: Float32Array) => Float32Array;

function layersOf({ layers, width, pooling }: SentenceConfig, files: ModelFiles): Layer[] {
  const file = files.get(SENTENCE_FILE);
  const tensors = file === undefined ? new Map() : decodeSafetensors(file.bytes, file.file).tensors;
  let inputs = pooling.length * width;
  const tensor = (name: string, shape: readonly number[]): Float32Array => {
    const found = tensors.get(name);
    if (found?.shape.join() === shape.join()) return found.values;
    const is = found === undefined ? 'is missing' : `is [${found.shape.join(', ')}]`;
    throw new ModelFolderError(file?.file ?? SENTENCE_FILE, `tensor ${name} ${is}; expected [${shape.join(', ')}]`);
  };
  return layers.map((layer, at): Layer => {
    if (layer.type === 'Normalize') return unitVector;
    if (layer.type === 'LayerNorm') {
      return layerNorm(tensor(`${at}.weight`, [inputs]), tensor(`${at}.bias`, [inputs]));
    }
    const outputs = tensors.get(`${at}.weight`)?.shape[0] ?? 0;
    const weight = tensor(`${at}.weight`, [outputs, inputs]);
    const bias = tensors.has(`${at}.bias`) ? tensor(`${at}.bias`, [outputs]) : undefined;
    const isProjected = layer.residual === true && outputs !== inputs;
    const residual = isProjected ? tensor(`${at}.residual`, [outputs, inputs]) : undefined;
    inputs = outputs;
    return dense(layer, { weight, bias, residual });
  });
}

interface DenseWeights {
  /** [outputs, inputs] */
  readonly weight: Float32Array;
  /** [outputs] */
  readonly bias: Float32Array | undefined;
  /** [outputs, inputs]; undefined: the input itself. */
  readonly residual: Float32Array | undefined;
}

function dense({ activation = 'Identity', residual: isAdded }: SentenceLayer, weights: DenseWeights): Layer {
  const { weight, bias, residual } = weights;
  return (x) => {
    const y = activate(
      activation,
      product(weight, x).map((value, at) => value + (bias?.[at] ?? 0)),
    );
    if (isAdded !== true) return Float32Array.from(y);
    const added = residual === undefined ? x : product(residual, x);
    return Float32Array.from(y, (value, at) => value + (added[at] ?? 0));
  };
}

/** Shapes: matrix [rows, columns], x [columns] → [rows]. */
function product(matrix: Float32Array, x: Float32Array): Float64Array {
  const columns = x.length;
  const y = new Float64Array(matrix.length / columns);
  for (let row = 0; row < y.length; row += 1) {
    let sum = 0;
    for (let at = 0; at < columns; at += 1) sum += (matrix[row * columns + at] ?? 0) * (x[at] ?? 0);
    y[row] = sum;
  }
  return y;
}

/** PyTorch's default. */
const EPSILON = 1e-5;

function layerNorm(weight: Float32Array, bias: Float32Array): Layer {
  return (x) => {
    const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    const scale = 1 / Math.sqrt(variance + EPSILON);
    return x.map((value, at) => (value - mean) * scale * (weight[at] ?? 0) + (bias[at] ?? 0));
  };
}

const activations: Readonly<Record<SentenceActivation, (x: number) => number>> = {
  Identity: (x) => x,
  Tanh: Math.tanh,
  ReLU: (x) => Math.max(0, x),
  Sigmoid: sigmoid,
  SiLU: (x) => x * sigmoid(x),
};

function activate(name: SentenceActivation, x: ArrayLike<number>): Float64Array {
  return Float64Array.from(x, activations[name]);
}
