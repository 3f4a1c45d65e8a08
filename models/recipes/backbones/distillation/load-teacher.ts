import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkpointWeights, type Encoder, readEncoder, trainingInputs } from '../../../../src/encoder/index.js';
import { feedsFor, padBatch } from '../../../../src/engine/index.js';
import {
  type CompiledGraph,
  Graph,
  type GraphExecutor,
  type Tensor,
  type TensorData,
} from '../../../../src/graph/index.js';
import { decodeWeights, type NamedTensor } from '../../../../src/models/index.js';
import { type Encoding, loadTokenizer, type Tokenizer } from '../../../../src/text/index.js';
import { integerRanges } from './integer-teacher.js';
import { tapped } from './tapped.js';
import { parseTrack, type Track } from './track.js';
import { wordHead, wordHeadParameters } from './word-head.js';

/** What a teacher computed for some texts. */
export interface TokenStates {
  readonly batch: number;
  /** Row token·batch + text, for each track: [tokens*batch, width]. */
  readonly tracks: ReadonlyMap<Track, Float32Array>;
}

/** An encoder in Hugging Face's layout whose vectors are a student's targets. */
export class Teacher {
  private constructor(
    readonly tokenizer: Tokenizer,
    private readonly encoder: Encoder,
    private readonly tracks: readonly Track[],
    private readonly compiled: CompiledGraph,
    private readonly inputNames: ReadonlySet<string>,
  ) {}

  /** Width of a vector of every track. */
  get width(): number {
    return this.encoder.width;
  }

  /**
   * @param folder with config.json, tokenizer.json and model.safetensors, with or without a head.
   * @param tracks what is to be computed.
   * @param calibration texts to find the ranges of 8-bit arithmetic with. Default: float32.
   * @throws Error if the encoder has no such track.
   */
  static async load(
    folder: string,
    executor: GraphExecutor,
    tracks: readonly Track[],
    calibration?: readonly string[],
  ): Promise<Teacher> {
    const encoder = readEncoder(readJson(folder, 'config.json'), 'config.json');
    const tokenizer = loadTokenizer(readJson(folder, 'tokenizer.json'), readJson(folder, 'tokenizer_config.json'));
    const tensors = decodeWeights(readFileSync(join(folder, 'model.safetensors')), folder);
    const graph = teacherGraph(encoder, tracks);
    const weights = teacherWeights(encoder, tensors, folder, tracks);
    const texts = calibration?.map((text) => tokenizer.encode(text));
    const build = () => teacherGraph(encoder, tracks);
    const quantization = texts && (await integerRanges(build, encoder, executor, weights, texts));
    const compiled = await executor.compile(graph, { weights, ...(quantization && { quantization }) });
    const inputNames = new Set(graph.inputs.map(({ name }) => name));
    return new Teacher(tokenizer, encoder, tracks, compiled, inputNames);
  }

  async states(encodings: readonly Encoding[]): Promise<TokenStates> {
    const padded = padBatch(encodings, this.encoder);
    const { tokens, batch } = padded.sizes;
    const dims = [tokens * batch, this.width];
    const tracks = new Map(this.tracks.map((track) => [track, new Float32Array(tokens * batch * this.width)]));
    const outputs: Record<string, TensorData> = {};
    for (const [track, data] of tracks) outputs[track] = { type: 'float32', dims, data };
    await this.compiled.run(feedsFor(padded, this.inputNames), outputs);
    return { batch, tracks };
  }

  release(): Promise<void> {
    return this.compiled.release();
  }
}

function teacherGraph(encoder: Encoder, tracks: readonly Track[]): Graph {
  const graph = new Graph();
  const last = encoder.states(graph, trainingInputs(graph), { prefix: '' });
  for (const track of tracks) graph.output(track, trackTensor(graph, encoder, last, track));
  return graph;
}

const taps = { layer: 'states', queries: 'query', keys: 'key', values: 'value' } as const;

function trackTensor(graph: Graph, encoder: Encoder, last: Tensor, track: Track): Tensor {
  const { kind, layer } = parseTrack(track);
  if (kind === 'last') return last;
  if (kind === 'words') return wordHead(graph, last, encoder);
  return tapped(encoder, '', last, layer, taps[kind]);
}

/** The encoder's weights, and those of its masked-language head if a track asks for it. */
function teacherWeights(
  encoder: Encoder,
  tensors: ReadonlyMap<string, NamedTensor>,
  folder: string,
  tracks: readonly Track[],
): Map<string, Float32Array> {
  const weights = new Map(checkpointWeights(encoder, tensors, folder));
  if (!tracks.some((track) => parseTrack(track).kind === 'words')) return weights;
  for (const { name } of wordHeadParameters(encoder)) {
    const values = tensors.get(name)?.values;
    if (values === undefined) throw new Error(`${folder} has no ${name}: it has no masked-language head`);
    weights.set(name, values);
  }
  return weights;
}

function readJson(folder: string, file: string): unknown {
  return JSON.parse(readFileSync(join(folder, file), 'utf8'));
}
