/**
 * One trainable tensor: its Hugging Face name, its shape, its initial values and whether weight decay
 * applies.
 */
export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
  /** Initial values: drawn from N(0, deviation²), or one constant. */
  readonly start: { readonly deviation: number } | { readonly value: number };
  /** Whether weight decay applies; not to biases and LayerNorm, as in BERT. */
  readonly decay: boolean;
}

/** A weight matrix, or an embedding table. */
export function weight(name: string, shape: readonly number[], deviation: number): ParameterSpec {
  return { name, shape, start: { deviation }, decay: true };
}

/** A bias, or LayerNorm's γ (1) and β (0). */
export function vector(name: string, length: number, value = 0): ParameterSpec {
  return { name, shape: [length], start: { value }, decay: false };
}

/** The two parameters of a linear layer, its weight stored [out, in]. */
export function linearParameters(
  name: string,
  inputs: number,
  outputs: number,
  deviation: number,
): ParameterSpec[] {
  return [weight(`${name}.weight`, [outputs, inputs], deviation), vector(`${name}.bias`, outputs)];
}

/** Fills a new parameter with its initial values. @param normal draws from N(0, 1). */
export function initialize({ start }: ParameterSpec, values: Float32Array, normal: () => number): void {
  if ('value' in start) values.fill(start.value);
  else for (let index = 0; index < values.length; index += 1) values[index] = normal() * start.deviation;
}
