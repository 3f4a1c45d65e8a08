import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkpointWeights, type Encoder, type ParameterSpec, readEncoder } from '../../../../src/encoder/index.js';
import { decodeWeights } from '../../../../src/models/index.js';

/** Weights by transformers' names. */
export type EncoderWeights = ReadonlyMap<string, Float32Array>;

/** A trained encoder to grow a larger one from. */
export interface SmallEncoder {
  readonly encoder: Encoder;
  readonly weights: EncoderWeights;
}

/** @param folder of a backbone. @throws Error if it holds none. */
export function readSmallEncoder(folder: string): SmallEncoder {
  const json: unknown = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
  const encoder = readEncoder(json, 'config.json');
  const bytes = readFileSync(join(folder, 'model.safetensors'));
  const tensors = decodeWeights(bytes, 'model.safetensors');
  return { encoder, weights: checkpointWeights(encoder, tensors, folder) };
}

/**
 * Initializes a wider and deeper encoder so that it starts with what a small one has learned (Net2Net, Chen
 * et al. 2016; bert2BERT, Chen et al. 2022). The small encoder's weights become the first rows and columns of
 * the large one's; the rest keeps its random start. As heads are equally wide, whole heads carry over. A
 * LayerNorm finds the same mean and variance as long as the new states have those of the old ones. Layers
 * that the small encoder lacks are set to pass on nearly what they get: their LayerNorms restore the scale of
 * the last old layer's output.
 * @param large its weights at their random start; they are changed in place.
 * @throws Error if heads differ in width, or vocabularies or positions in number.
 */
export function grow(small: SmallEncoder, encoder: Encoder, large: EncoderWeights): void {
  refuseOthers(small.encoder, encoder);
  const shapes = new Map(small.encoder.parameters('').map(({ name, shape }) => [name, shape]));
  for (const parameter of encoder.parameters('')) {
    const values = large.get(parameter.name);
    const from = small.weights.get(parameter.name);
    const shape = shapes.get(parameter.name);
    if (values === undefined) throw new Error(`no weights of ${parameter.name} to start`);
    if (from && shape) overlay(parameter, values, shape, from);
    else if (parameter.name.endsWith('LayerNorm.weight')) values.fill(lastScale(small));
  }
}

function refuseOthers(small: Encoder, large: Encoder): void {
  const headWidth = ({ width, heads }: Encoder) => width / heads;
  if (headWidth(small) !== headWidth(large)) throw new Error('heads of another width cannot be copied');
  for (const size of ['vocabularySize', 'maxTokens'] as const) {
    if (small[size] !== large[size]) throw new Error(`${size} is ${small[size]} and ${large[size]}`);
  }
}

/**
 * Writes a small tensor over the first rows and columns of a large one. A larger γ is filled up with the mean
 * of the small one.
 */
function overlay(
  { name, shape }: ParameterSpec,
  values: Float32Array,
  small: readonly number[],
  from: Float32Array,
): void {
  if (name.endsWith('LayerNorm.weight')) values.fill(from.reduce((sum, value) => sum + value, 0) / from.length);
  const width = shape.at(-1) ?? 0;
  const smallWidth = small.at(-1) ?? 0;
  for (let row = 0; row * smallWidth < from.length; row += 1) {
    values.set(from.subarray(row * smallWidth, (row + 1) * smallWidth), row * width);
  }
}

/** The standard deviation of the small encoder's hidden states, whose mean is near 0: √(mean of γ² + β²). */
function lastScale({ encoder, weights }: SmallEncoder): number {
  const norm = `encoder.layer.${encoder.layers - 1}.output.LayerNorm`;
  const squares = [`${norm}.weight`, `${norm}.bias`].flatMap((name) => [...(weights.get(name) ?? [])]);
  return Math.sqrt(squares.reduce((sum, value) => sum + value ** 2, 0) / encoder.width);
}
