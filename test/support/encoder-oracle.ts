import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import {
  checkpointWeights,
  type Encoder,
  type EncoderInputs,
  exportedInputs,
  readEncoder,
  trainingInputs,
} from '../../src/encoder/index.js';
import { feedsFor, padBatch } from '../../src/engine/index.js';
import {
  addGradients,
  Graph,
  type GraphExecutor,
  onnxExecutor,
  resolveShape,
  type Tensor,
  type TensorData,
  volume,
} from '../../src/graph/index.js';
import { decodeSafetensors, type NamedTensor } from '../../src/models/index.js';
import type { Encoding } from '../../src/text/index.js';

/**
 * Encoders that Python's transformers wrote beside what it computed with them (bench/interop/random_encoders.py), and how
 * far our own numbers are from those.
 */

type Tensors = ReadonlyMap<string, NamedTensor>;
type Weights = ReadonlyMap<string, Float32Array>;

const idRows = z.array(z.array(z.int()));
const summarySchema = z.strictObject({
  writtenBy: z.string(),
  ids: idRows,
  typeIds: idRows,
  labels: z.array(z.int()),
});

/** A folder that random_encoders.py wrote. */
export interface Oracle {
  readonly encoder: Encoder;
  /** By transformers' names; the head's `head.weight` and `head.bias` among them. */
  readonly weights: Weights;
  /** Versions of transformers and PyTorch. */
  readonly writtenBy: string;
  readonly texts: readonly Encoding[];
  readonly labels: readonly number[];
  readonly expected: Tensors;
}

export function readOracle(folder: string): Oracle {
  const json = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const tensors = (name: string): Tensors =>
    decodeSafetensors(readFileSync(join(folder, name)), join(folder, name)).tensors;
  const encoder = readEncoder(json('config.json'), join(folder, 'config.json'));
  const { writtenBy, ids, typeIds, labels } = summarySchema.parse(json('expected.json'));
  const expected = tensors('expected.safetensors');
  const stored = checkpointWeights(encoder, tensors('model.safetensors'), 'model.safetensors');
  const ofHead = [...expected].filter(([name]) => name.startsWith('head.'));
  const weights = new Map([...stored, ...ofHead.map(([name, { values }]) => [name, values] as const)]);
  const texts = ids.map((row, text) => encodingOf(row, typeIds[text] ?? []));
  return { encoder, weights, writtenBy, texts, labels, expected };
}

const encodingOf = (ids: readonly number[], typeIds: readonly number[]): Encoding => ({
  ids: Int32Array.from(ids),
  typeIds: Int32Array.from(typeIds),
  sequenceIds: new Int32Array(ids.length),
  offsets: null,
  truncated: 0,
});

/** Largest differences between our numbers and those that were recorded; see {@link distance} for a tensor's. */
export interface StepComparison {
  readonly states: number;
  readonly logits: number;
  readonly gradients: number;
  /** Whose gradient differs most. */
  readonly worst: string;
  /** How many tensors' gradients were compared. */
  readonly compared: number;
}

export interface Comparison extends StepComparison {
  /** Hidden states of the graph that is exported, from Hugging Face's inputs. */
  readonly exported: number;
}

export async function compareWithOracle(oracle: Oracle): Promise<Comparison> {
  const exported = await exportedStates(oracle);
  return {
    ...(await compareStep(oracle, onnxExecutor())),
    exported: distance(exported, recordedOf(oracle)('states'), 1),
  };
}

const recordedOf =
  (oracle: Oracle) =>
  (name: string): Float32Array => {
    const tensor = oracle.expected.get(name);
    if (tensor === undefined) throw new Error(`nothing is recorded of ${name}`);
    return tensor.values;
  };

/** A training step alone. */
export async function compareStep(oracle: Oracle, executor: GraphExecutor): Promise<StepComparison> {
  const { logits, states, gradients } = await trainingStep(oracle, executor);
  const expected = recordedOf(oracle);
  const recorded = [...oracle.expected.keys()].flatMap((name) =>
    name.startsWith(GRADIENT) ? [name.slice(GRADIENT.length)] : [],
  );
  const overall = Math.max(...recorded.map((name) => largest(expected(GRADIENT + name))));
  const differences = recorded.map((name) => ({
    name,
    difference: distance(gradients.get(name), expected(GRADIENT + name), overall / 100),
  }));
  const worst = differences.reduce((a, b) => (b.difference > a.difference ? b : a));
  return {
    states: distance(states, expected('states'), 1),
    logits: distance(logits, expected('logits'), 1),
    gradients: worst.difference,
    worst: worst.name,
    compared: recorded.length,
  };
}

const GRADIENT = 'gradient:';

/**
 * The largest difference of two tensors' numbers, as a share of the largest expected one.
 * @param least what it is at least a share of, for tensors that are all but 0.
 */
function distance(actual: Float32Array | undefined, expected: Float32Array, least: number): number {
  if (actual?.length !== expected.length) return Number.POSITIVE_INFINITY;
  const difference = expected.reduce(
    (most, value, at) => Math.max(most, Math.abs(value - (actual[at] ?? Number.NaN))),
    0,
  );
  return difference / Math.max(least, largest(expected));
}

const largest = (values: Float32Array): number => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

interface Step {
  /** Text by text, without padding. */
  readonly states: Float32Array;
  readonly logits: Float32Array;
  /** By the parameter's name. */
  readonly gradients: Weights;
}

async function trainingStep({ encoder, weights, texts, labels }: Oracle, executor: GraphExecutor): Promise<Step> {
  const graph = new Graph();
  const { states, logits } = forward(graph, encoder, trainingInputs(graph));
  const targets = graph.input('targets', 'float32', ['batch', 3]);
  const chosen = graph.multiply(graph.logSoftmax(logits), targets);
  const loss = graph.scale(graph.reduceSum(chosen, [0, 1]), -1 / texts.length);
  graph.output('states', states);
  graph.output('logits', logits);
  const gradients = addGradients(graph, loss);
  for (const { parameter, dense, rows } of gradients) {
    if (dense !== undefined) graph.output(`dense ${parameter.name}`, dense);
    for (const [at, each] of rows.entries()) graph.output(`rows ${parameter.name} ${at}`, each.rows);
  }
  const { feeds, sizes } = padBatch(texts, encoder);
  const oneHot = Float32Array.from({ length: 3 * texts.length }, (_, at) =>
    Number(labels[Math.floor(at / 3)] === at % 3),
  );
  const results = await run(executor, graph, weights, sizes, {
    ...feedsFor({ feeds, sizes }, new Set(graph.inputs.map(({ name }) => name))),
    targets: { type: 'float32', dims: [texts.length, 3], data: oneHot },
  });
  const summed = gradients.map(({ parameter, rows }) => {
    const dense = results.get(`dense ${parameter.name}`);
    const total = Float32Array.from(dense ?? new Float32Array(volume(parameter.shape.map(Number))));
    for (const [at, { indices }] of rows.entries()) {
      const feed = Object.entries(feeds).find(([name]) => name === indices.name)?.[1];
      addRows(total, results.get(`rows ${parameter.name} ${at}`), feed?.data);
    }
    return [parameter.name, total] as const;
  });
  return {
    states: withoutPadding(results.get('states'), texts),
    logits: results.get('logits') ?? new Float32Array(),
    gradients: new Map(summed),
  };
}

function forward(graph: Graph, encoder: Encoder, inputs: EncoderInputs): Record<'states' | 'logits', Tensor> {
  const states = encoder.states(graph, inputs, { prefix: '' });
  const byToken = graph.reshape(states, ['tokens', 'batch', encoder.width]);
  const mean = graph.reduceSum(graph.multiply(byToken, inputs.tokenShare()), [0]);
  const weight = graph.parameter('head.weight', [3, encoder.width]);
  const logits = graph.gemm(mean, weight, { transposeB: true }, graph.parameter('head.bias', [3]));
  return { states, logits };
}

async function exportedStates({ encoder, weights, texts }: Oracle): Promise<Float32Array> {
  const graph = new Graph();
  graph.output('states', encoder.states(graph, exportedInputs(graph), { prefix: '' }));
  const [batch, tokens] = [texts.length, Math.max(...texts.map(({ ids }) => ids.length))];
  const dims = [batch, tokens];
  const filled = (numberAt: (text: Encoding, token: number) => number): TensorData => {
    const rows = texts.flatMap((text) => Array.from({ length: tokens }, (_, token) => numberAt(text, token)));
    return { type: 'int64', dims, data: BigInt64Array.from(rows, BigInt) };
  };
  const feeds = {
    input_ids: filled(({ ids }, token) => ids[token] ?? encoder.padId),
    attention_mask: filled(({ ids }, token) => Number(token < ids.length)),
    token_type_ids: filled(({ typeIds }, token) => typeIds[token] ?? 0),
  };
  const used = Object.entries(feeds).filter(([name]) => graph.inputs.some((input) => input.name === name));
  const results = await run(onnxExecutor(), graph, weights, { batch, tokens }, Object.fromEntries(used));
  return withoutPadding(results.get('states'), texts);
}

/** Runs a graph once. @returns its outputs by name. */
async function run(
  executor: GraphExecutor,
  graph: Graph,
  weights: Weights,
  sizes: Readonly<Record<string, number>>,
  feeds: Readonly<Record<string, TensorData>>,
): Promise<Map<string, Float32Array>> {
  const compiled = await executor.compile(graph, { weights });
  const results = new Map(
    [...graph.outputs].map(([name, { shape }]) => {
      const dims = resolveShape(shape, sizes);
      return [name, { dims, data: new Float32Array(volume(dims)) }] as const;
    }),
  );
  const outputs = [...results].map(([name, each]) => [name, { type: 'float32' as const, ...each }] as const);
  await compiled.run(feeds, Object.fromEntries(outputs));
  await compiled.release();
  return new Map([...results].map(([name, { data }]) => [name, data]));
}

/** Adds row i to row `ids[i]` of a table. */
function addRows(
  table: Float32Array,
  rows: Float32Array = new Float32Array(),
  ids: TensorData['data'] = new Int32Array(),
): void {
  const width = rows.length / ids.length;
  for (const [at, value] of rows.entries()) {
    const place = Number(ids[Math.floor(at / width)]) * width + (at % width);
    table[place] = (table[place] ?? 0) + value;
  }
}

/** States [tokens*batch, width] text by text, those of padding left out. */
function withoutPadding(states: Float32Array = new Float32Array(), texts: readonly Encoding[]): Float32Array {
  const tokens = Math.max(...texts.map(({ ids }) => ids.length));
  const width = states.length / (tokens * texts.length);
  return Float32Array.from(
    texts.flatMap(({ ids }, text) =>
      Array.from(ids).flatMap((_, token) => {
        const start = (token * texts.length + text) * width;
        return Array.from(states.subarray(start, start + width));
      }),
    ),
  );
}
