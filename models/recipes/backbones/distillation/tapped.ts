import type { Encoder, ParameterSpec } from '../../../../src/encoder/index.js';
import { nodesFor, type Tensor } from '../../../../src/graph/index.js';

/** What of a layer is looked at: its output, or what one of its linear layers gives. */
export type Tap = 'states' | 'query' | 'key' | 'value';

/**
 * A tensor from inside an encoder's graph. It is found by the parameter that it was computed with, so that encoders need
 * no second way to be built.
 * @param states the encoder's last hidden states, whose graph is searched.
 * @param prefix in front of the encoder's parameter names in the graph.
 * @param layer counted from 1.
 * @returns [tokens*batch, width].
 * @throws Error if the encoder has no such layer, or computes it otherwise.
 */
export function tapped(encoder: Encoder, prefix: string, states: Tensor, layer: number, tap: Tap): Tensor {
  const { name } = tappedParameter(encoder, layer, tap);
  const node = nodesFor([states]).find(({ inputs }) => inputs.some((input) => input.name === prefix + name));
  const [output] = node?.outputs ?? [];
  if (output === undefined) throw new Error(`${encoder.architecture}: nothing is computed with ${name}`);
  return output;
}

function tappedParameter(encoder: Encoder, layer: number, tap: Tap): ParameterSpec {
  const own = encoder.parameters('').filter(({ part }) => part === layer - 1);
  const found =
    tap === 'states'
      ? own.findLast(({ name }) => name.endsWith('LayerNorm.weight'))
      : own.find(({ role }) => role === tap);
  if (found === undefined) {
    const has = `its ${encoder.layers} layers`;
    throw new Error(`${encoder.architecture}: no ${tap} of layer ${layer} among ${has}`);
  }
  return found;
}
