export interface ParameterSpec {
  readonly name: string;
  readonly shape: readonly number[];
  /** Drawn from N(0, deviation²), or one constant. */
  readonly start: { readonly deviation: number } | { readonly value: number };
  /** Not to biases and LayerNorm, as in BERT. */
  readonly decay: boolean;
  /** A layer is numbered from 0; one that shares weights has the number of the first. Absent: a head. */
  readonly part?: EncoderPart;
  readonly role?: ParameterRole;
}

type EncoderPart = 'embeddings' | number;

/** Absent for biases, norms and all that a head has. */
export type ParameterRole = 'words' | 'table' | LinearRole;
export type LinearRole = 'query-key-value' | 'query' | 'key' | 'value' | 'attention-output' | 'inner' | 'outer';

export function weight(name: string, shape: readonly number[], deviation: number, role?: ParameterRole): ParameterSpec {
  return { name, shape, start: { deviation }, decay: true, ...(role && { role }) };
}

/** A bias, or LayerNorm's γ (1) and β (0). */
function vector(name: string, length: number, value = 0): ParameterSpec {
  return { name, shape: [length], start: { value }, decay: false };
}

/** The weight is stored [out, in]. */
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

export function layerNormParameters(name: string, width: number, hasBias = true): ParameterSpec[] {
  return [vector(`${name}.weight`, width, 1), ...(hasBias ? [vector(`${name}.bias`, width, 0)] : [])];
}

export function inPart(part: EncoderPart, parameters: readonly ParameterSpec[]): ParameterSpec[] {
  return parameters.map((parameter) => ({ ...parameter, part }));
}

/** @param normal draws from N(0, 1). */
export function initialize({ start }: ParameterSpec, values: Float32Array, normal: () => number): void {
  if ('value' in start) values.fill(start.value);
  else for (let index = 0; index < values.length; index += 1) values[index] = normal() * start.deviation;
}
