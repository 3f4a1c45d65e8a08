/** One learned tensor: its Hugging Face name, its shape, and how it starts and whether it decays. */
export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
  /** What a new one is filled with: N(0, deviation²), or one number. */
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
