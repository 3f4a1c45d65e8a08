/** One trainable tensor: its Hugging Face name, its shape, its initial values and whether weight decay applies. */
export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
  /** Initial values: drawn from N(0, deviation²), or one constant. */
  readonly start: { readonly deviation: number } | { readonly value: number };
  /** Whether weight decay applies; not to biases and LayerNorm, as in BERT. */
  readonly decay: boolean;
  /**
   * The part of the encoder that it belongs to: the embeddings, or a layer by its number from 0 (the first of
   * those that share it). Absent: a head.
   */
  readonly part?: EncoderPart;
  /** What the weights do there; absent for biases, norms and all that a head has. */
  readonly role?: ParameterRole;
}

type EncoderPart = 'embeddings' | number;

/** What weights do in an encoder: tables of the embeddings, or linear layers by what they give. */
export type ParameterRole = 'words' | 'table' | LinearRole;
export type LinearRole = 'query-key-value' | 'query' | 'key' | 'value' | 'attention-output' | 'inner' | 'outer';

/** A weight matrix, or an embedding table. */
export function weight(name: string, shape: readonly number[], deviation: number, role?: ParameterRole): ParameterSpec {
  return { name, shape, start: { deviation }, decay: true, ...(role && { role }) };
}

/** A bias, or LayerNorm's γ (1) and β (0). */
export function vector(name: string, length: number, value = 0): ParameterSpec {
  return { name, shape: [length], start: { value }, decay: false };
}

/** The parameters of a linear layer, its weight stored [out, in]. */
export function linearParameters(
  name: string,
  inputs: number,
  outputs: number,
  deviation: number,
  { role, hasBias = true }: { readonly role?: LinearRole; readonly hasBias?: boolean } = {},
): ParameterSpec[] {
  const bias = hasBias ? [vector(`${name}.bias`, outputs)] : [];
  return [weight(`${name}.weight`, [outputs, inputs], deviation, role), ...bias];
}

/** γ and, where it has one, β of a LayerNorm. */
export function layerNormParameters(name: string, width: number, hasBias = true): ParameterSpec[] {
  return [vector(`${name}.weight`, width, 1), ...(hasBias ? [vector(`${name}.bias`, width, 0)] : [])];
}

/** The same parameters as those of a part of the encoder. */
export function inPart(part: EncoderPart, parameters: readonly ParameterSpec[]): ParameterSpec[] {
  return parameters.map((parameter) => ({ ...parameter, part }));
}

/** Fills a new parameter with its initial values. @param normal draws from N(0, 1). */
export function initialize({ start }: ParameterSpec, values: Float32Array, normal: () => number): void {
  if ('value' in start) values.fill(start.value);
  else for (let index = 0; index < values.length; index += 1) values[index] = normal() * start.deviation;
}
