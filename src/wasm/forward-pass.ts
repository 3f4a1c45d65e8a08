import { ModelFolderError, messageOf } from '../contract/index.js';
import type { ForwardKernels } from '../engine/index.js';
import { readEncoderFile, type StoredModel, storedModel } from '../graph/index.js';
import { ENCODER_FILE } from '../models/index.js';
import { fields, number, oneOf, requireShape, type Shaped, whole } from '../system/index.js';
import type { Encoding } from '../text/index.js';
import { EncoderWeights, type Layer, type Norm, PANEL, type Table } from './encoder-weights.js';
import { MemoryLayout } from './memory-layout.js';

/**
 * The forward pass of BERT (Devlin et al. 2019) in WebAssembly, for places that ONNX Runtime can't go to. It reads the same
 * `.onnx` file and computes the same numbers, up to rounding: 8-bit weights are multiplied as integers, float32 weights in
 * float32. A text is read alone, so there is no padding and no mask.
 */

/** What a graph gives: the states of all tokens, of the first one, or their mean; then a classifier, if there is one. */
export interface PassOutput {
  readonly pooling: 'first' | 'mean' | 'none';
  readonly classifier: boolean;
}

export interface ForwardPassOptions extends PassOutput {
  /** The contents of config.json. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly configFile: string;
  /** Of the `.onnx` file, or of {@link encoderFile}. They are not read after `open`. */
  readonly graph: Uint8Array;
  readonly graphFile: string;
  /** The most tokens of a text. */
  readonly maxTokens: number;
}

/** Up to 16,384 inputs of 9 bits times 7 bits fit the sums of 32 bits many times over. */
const MAX_WIDTH = 16_384;
const MAX_LAYERS = 256;

const configShape = fields(
  {
    model_type: oneOf('bert'),
    hidden_size: whole(1, MAX_WIDTH),
    num_hidden_layers: whole(1, MAX_LAYERS),
    num_attention_heads: whole(1, MAX_WIDTH),
    intermediate_size: whole(1, MAX_WIDTH),
  },
  { layer_norm_eps: number(0, 1), hidden_act: oneOf('gelu'), position_embedding_type: oneOf('absolute') },
);
type BertConfig = Shaped<typeof configShape>;

/** Numbers of a vector. */
const LANES = 4;
/** Bytes of a number. */
const FLOAT = 4;

/** Why the kernels can't compute an encoder of these widths; undefined if they can. */
function reasonAgainst({ hidden_size: width, num_attention_heads: heads, intermediate_size: inner }: BertConfig) {
  if (width % PANEL !== 0) return `hidden_size ${width} is not a multiple of ${PANEL}`;
  if (inner % PANEL !== 0) return `intermediate_size ${inner} is not a multiple of ${PANEL}`;
  if (width % (LANES * heads) === 0) return undefined;
  return `each of num_attention_heads ${heads} must have a multiple of ${LANES} of hidden_size ${width}`;
}

interface Block {
  /** Queries, keys and values in one: [3, heads, width of a head]. */
  readonly projections: Layer;
  readonly attentionOutput: Layer;
  readonly attentionNorm: Norm;
  readonly inner: Layer;
  readonly outer: Layer;
  readonly outputNorm: Norm;
}

/** What a text passes through; numbers are addresses. */
interface Network {
  readonly words: Table;
  readonly positions: Table;
  readonly types: Table;
  readonly embeddingNorm: Norm;
  readonly blocks: readonly Block[];
  readonly pooler: Layer | undefined;
  readonly classifier: Layer | undefined;
}

function networkOf(
  weights: EncoderWeights,
  config: BertConfig,
  { pooling, classifier, maxTokens, graphFile }: ForwardPassOptions,
): Network {
  const { hidden_size: width, num_hidden_layers: layers } = config;
  const prefix = weights.has(`${PREFIX}embeddings.LayerNorm.weight`) ? PREFIX : '';
  const positions = weights.table(`${prefix}embeddings.position_embeddings`, width);
  if (positions.rows < maxTokens) {
    throw new ModelFolderError(graphFile, `has ${positions.rows} positions, but a text may have ${maxTokens} tokens`);
  }
  return {
    words: weights.table(`${prefix}embeddings.word_embeddings`, width),
    positions,
    types: weights.table(`${prefix}embeddings.token_type_embeddings`, width),
    embeddingNorm: weights.norm(`${prefix}embeddings.LayerNorm`, width),
    blocks: Array.from({ length: layers }, (_, at) => blockOf(weights, `${prefix}encoder.layer.${at}`, config)),
    pooler: classifier && pooling === 'first' ? weights.layer([`${prefix}pooler.dense`], width) : undefined,
    classifier: classifier ? weights.layer(['classifier'], width) : undefined,
  };
}

/** transformers' base_model_prefix, which an encoder without a head doesn't have. */
const PREFIX = 'bert.';

function blockOf(weights: EncoderWeights, name: string, { hidden_size: width, intermediate_size }: BertConfig): Block {
  const projections = ['query', 'key', 'value'].map((part) => `${name}.attention.self.${part}`);
  return {
    projections: weights.layer(projections, width),
    attentionOutput: weights.layer([`${name}.attention.output.dense`], width),
    attentionNorm: weights.norm(`${name}.attention.output.LayerNorm`, width),
    inner: weights.layer([`${name}.intermediate.dense`], width),
    outer: weights.layer([`${name}.output.dense`], intermediate_size),
    outputNorm: weights.norm(`${name}.output.LayerNorm`, width),
  };
}

/** Addresses of what a run writes. */
interface Scratch {
  readonly ids: number;
  readonly positions: number;
  readonly typeIds: number;
  /** After a normalization. [tokens, width] */
  readonly states: number;
  /** What is added to the states. [tokens, width] */
  readonly update: number;
  /** Queries, keys and values, or what is between the two layers of a block. [tokens, max(3 · width, inner width)] */
  readonly wide: number;
  /** Input of an 8-bit layer, 16 bits each. [tokens, max(width, inner width)] */
  readonly rounded: number;
  readonly attention: number;
  /** [width] */
  readonly pooled: number;
  /** [tokens or 1, outputs of the classifier] */
  readonly outputs: number;
}

function scratchOf(layout: MemoryLayout, config: BertConfig, tokens: number, outputs: number): Scratch {
  const { hidden_size: width, intermediate_size: inner, num_attention_heads: heads } = config;
  return {
    ids: layout.take(tokens * FLOAT),
    positions: layout.put(Int32Array.from({ length: tokens }, (_, at) => at)),
    typeIds: layout.take(tokens * FLOAT),
    states: layout.take(tokens * width * FLOAT),
    update: layout.take(tokens * width * FLOAT),
    wide: layout.take(tokens * Math.max(3 * width, inner) * FLOAT),
    rounded: layout.take((tokens * Math.max(width, inner) * FLOAT) / 2),
    attention: layout.take((width / heads + LANES) * (tokens + PANEL) * FLOAT),
    pooled: layout.take(width * FLOAT),
    outputs: layout.take(outputs * FLOAT),
  };
}

export class ForwardPass {
  /** Of a text or, without pooling, of a token. */
  readonly outputs: number;
  /** Bytes of memory. */
  readonly bytes: number;
  readonly #config: BertConfig;
  readonly #output: PassOutput;
  readonly #maxTokens: number;
  readonly #network: Network;
  readonly #at: Scratch;
  readonly #kernels: ForwardKernels;
  readonly #memory: ArrayBuffer;

  private constructor(stored: StoredModel, config: BertConfig, options: ForwardPassOptions) {
    const { graphFile, maxTokens, pooling, classifier } = options;
    const layout = new MemoryLayout();
    const weights = new EncoderWeights(stored, layout, graphFile);
    this.#network = networkOf(weights, config, options);
    const rows = pooling === 'none' ? maxTokens : 1;
    this.#at = scratchOf(layout, config, maxTokens, rows * (this.#network.classifier?.outputs ?? 0));
    this.#config = config;
    this.#output = { pooling, classifier };
    this.#maxTokens = maxTokens;
    this.outputs = classifier ? weights.outputsOf('classifier') : config.hidden_size;
    const { kernels, memory } = layout.allocate();
    this.#kernels = kernels;
    this.#memory = memory;
    this.bytes = memory.byteLength;
  }

  /** @throws ModelFolderError for another architecture, or a graph that lacks weights */
  static open(options: ForwardPassOptions): ForwardPass {
    const { graph, graphFile, configFile } = options;
    const config = requireShape(configShape, options.config, configFile);
    const reason = reasonAgainst(config);
    if (reason !== undefined) throw new ModelFolderError(configFile, `the WebAssembly engine can't run it: ${reason}`);
    return new ForwardPass(readGraph(graph, graphFile), config, options);
  }

  /**
   * [outputs] or, without pooling, [tokens, outputs]. Takes one to some milliseconds.
   * @param output default: as it was opened with. Another one has no classifier: it is states or their mean
   * @throws RangeError for more tokens than were allowed for, or ids that the encoder has no row for
   */
  run({ ids, typeIds }: Pick<Encoding, 'ids' | 'typeIds'>, output = this.#output): Float32Array {
    const tokens = ids.length;
    this.#read(ids, typeIds);
    const { hidden_size: width } = this.#config;
    const { words, types, positions, embeddingNorm, blocks } = this.#network;
    const at = this.#at;
    words.gather(this.#kernels, at.ids, tokens, at.update);
    for (const [table, rows] of [
      [types, at.typeIds],
      [positions, at.positions],
    ] as const) {
      table.gather(this.#kernels, rows, tokens, at.wide);
      this.#kernels.addRows(at.wide, width, at.positions, tokens, at.update);
    }
    this.#normalize(embeddingNorm, at.update, 0, tokens, blocks[0]?.projections);
    for (const [number, block] of blocks.entries()) {
      const next = blocks[number + 1]?.projections;
      const isAskedOnce = next === undefined && output.pooling === 'first';
      this.#block(block, tokens, isAskedOnce ? 1 : tokens, next);
    }
    return this.#head(tokens, output);
  }

  #read(ids: Int32Array, typeIds: Int32Array): void {
    const { words, types } = this.#network;
    if (ids.length === 0 || ids.length > this.#maxTokens) {
      throw new RangeError(`${ids.length} tokens: the encoder reads 1 to ${this.#maxTokens}`);
    }
    for (let at = 0; at < ids.length; at += 1) {
      const id = ids[at] ?? 0;
      const type = typeIds[at] ?? 0;
      if (id >= 0 && id < words.rows && type >= 0 && type < types.rows) continue;
      throw new RangeError(`token ${at}: id ${id}, type ${type}; the encoder has ${words.rows} and ${types.rows}`);
    }
    new Int32Array(this.#memory, this.#at.ids, ids.length).set(ids);
    new Int32Array(this.#memory, this.#at.typeIds, typeIds.length).set(typeIds);
  }

  /** @param asked the first tokens, whose states are needed */
  #block(block: Block, tokens: number, asked: number, next: Layer | undefined): void {
    const { hidden_size: width, num_attention_heads: heads } = this.#config;
    const { states, update, wide, attention } = this.#at;
    const headWidth = width / heads;
    this.#linear(block.projections, states, tokens, wide);
    this.#kernels.attend(wide, tokens, asked, heads, headWidth, 1 / Math.sqrt(headWidth), attention, update);
    this.#round(block.attentionOutput, update, asked);
    this.#linear(block.attentionOutput, update, asked, wide);
    this.#normalize(block.attentionNorm, wide, states, asked, block.inner);
    this.#innerLayer(block, asked);
    this.#linear(block.outer, wide, asked, update);
    this.#normalize(block.outputNorm, update, states, asked, next);
  }

  /** The inner layer and GELU, into `wide` or, where the outer layer has 8 bits, rounded. */
  #innerLayer({ inner, outer }: Block, rows: number): void {
    const { states, wide, rounded } = this.#at;
    if (inner.bytes === undefined || outer.bytes === undefined) {
      this.#linear(inner, states, rows, wide);
      this.#kernels.geluOfValues(wide, rows * inner.outputs);
      this.#round(outer, wide, rows);
      return;
    }
    const { inputs, outputs, panels, bias, bytes } = inner;
    const { step, zero } = outer.bytes.rounding;
    this.#kernels.multiplyBytes(rounded, rows, inputs, panels, outputs, wide, outputs);
    this.#kernels.restoreThroughGelu(wide, rows, outputs, bytes.scales, bias, rounded, step, zero);
  }

  /** @param input of float32 layers; 8-bit layers read what was rounded before */
  #linear({ inputs, outputs, panels, bias, bytes }: Layer, input: number, rows: number, out: number): void {
    if (bytes === undefined) {
      this.#kernels.multiplyFloats(input, rows, inputs, panels, bias, outputs, out, outputs);
      return;
    }
    this.#kernels.multiplyBytes(this.#at.rounded, rows, inputs, panels, outputs, out, outputs);
    this.#kernels.restoreSums(out, rows, outputs, bytes.scales, bias);
  }

  #round({ inputs, bytes }: Layer, values: number, rows: number): void {
    if (bytes === undefined) return;
    const { step, zero } = bytes.rounding;
    this.#kernels.roundValues(values, rows * inputs, this.#at.rounded, step, zero);
  }

  /** states = normalize(update + residual), also rounded for the next layer. @param residual an address; 0 for none */
  #normalize({ weight, bias }: Norm, update: number, residual: number, rows: number, next: Layer | undefined): void {
    const { hidden_size: width, layer_norm_eps: epsilon = 1e-12 } = this.#config;
    const { states, rounded } = this.#at;
    const target = next?.bytes === undefined ? 0 : rounded;
    const { step, zero } = next?.bytes?.rounding ?? { step: 0, zero: 0 };
    this.#kernels.normalizeRows(update, residual, rows, width, weight, bias, epsilon, states, target, step, zero);
  }

  #head(tokens: number, { pooling, classifier: isClassified }: PassOutput): Float32Array {
    const { pooler, classifier } = this.#network;
    const { hidden_size: width } = this.#config;
    const { states, pooled, outputs } = this.#at;
    const rows = pooling === 'none' ? tokens : 1;
    let from = states;
    if (pooling === 'mean') {
      from = pooled;
      this.#kernels.meanRows(states, tokens, width, pooled);
    }
    if (pooler !== undefined && isClassified) {
      from = pooled;
      this.#linear(pooler, states, 1, pooled);
      const values = this.#floats(pooled, width);
      values.set(values.map(Math.tanh));
    }
    if (classifier === undefined || !isClassified) return this.#floats(from, rows * width).slice();
    this.#linear(classifier, from, rows, outputs);
    return withoutPadding(this.#floats(outputs, rows * classifier.outputs), rows, this.outputs);
  }

  #floats(at: number, length: number): Float32Array {
    return new Float32Array(this.#memory, at, length);
  }
}

function withoutPadding(padded: Float32Array, rows: number, outputs: number): Float32Array {
  const stride = padded.length / rows;
  const values = new Float32Array(rows * outputs);
  for (let row = 0; row < rows; row += 1) {
    values.set(padded.subarray(row * stride, row * stride + outputs), row * outputs);
  }
  return values;
}

function readGraph(graph: Uint8Array, file: string): StoredModel {
  if (file === ENCODER_FILE) return readEncoderFile(graph, file);
  try {
    return storedModel(graph);
  } catch (cause) {
    throw new ModelFolderError(file, messageOf(cause), { cause });
  }
}
