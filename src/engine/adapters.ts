import type { Dropout, Encoder, EncoderInputs, LinearAdapter, LinearRole, ParameterSpec } from '../encoder/index.js';
import type { Graph } from '../graph/index.js';
import type { TrainingHead } from './head.js';
import type { Weights } from './parameters.js';

/**
 * Low-rank adapters (Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models"): next to a frozen weight W
 * [outputs, inputs] of a linear layer, A [rank, inputs] and B [outputs, rank] learn, and the layer computes
 * x·(W + (alpha / rank)·B·A)ᵀ + b. Merged, the model has W + (alpha / rank)·B·A in the place of W, and nothing else.
 */

/**
 * A linear layer, named by its output. If an encoder computes query, key and value in one layer, each of these names
 * means that layer.
 */
export type AdapterTarget = 'query' | 'key' | 'value' | 'attention-output' | 'inner' | 'outer';
const FUSED = 'query-key-value' satisfies LinearRole;
const FUSED_TARGETS: readonly AdapterTarget[] = ['query', 'key', 'value'];

export interface Adapters {
  /** Rows of A and columns of B. */
  readonly rank: number;
  /** The product B·A counts alpha / rank times. */
  readonly alpha: number;
  readonly targets: readonly AdapterTarget[];
  readonly dropout: number;
  /** Layers of the encoder, from the lowest, that have none. */
  readonly lowest: number;
}

/** The head with adapters in the encoder below it. Its further parameters start so that they change nothing. */
export function withAdapters<Head extends TrainingHead>(head: Head, adapters: Adapters): Head {
  return {
    ...head,
    parameters(encoder: Encoder) {
      const specs = head.parameters(encoder);
      return [...specs, ...adapterParameters(specs, adapters)];
    },
    logits(graph: Graph, encoder: Encoder, inputs: EncoderInputs, dropout: Dropout) {
      const adapt = linearAdapter(head.parameters(encoder), adapters);
      return head.logits(graph, encoder, { ...inputs, adapt }, dropout);
    },
  };
}

/**
 * A and B of every adapted layer. B is 0 at first; A is drawn from a normal distribution, as in the paper, with the
 * variance 1 / (3·inputs) of the uniform one in its code and in PEFT.
 * @param specs the encoder's parameters.
 */
export function adapterParameters(specs: readonly ParameterSpec[], adapters: Adapters): ParameterSpec[] {
  return adaptedWeights(specs, adapters).flatMap(({ name, shape: [outputs = 0, inputs = 0] }) => [
    {
      name: nameOfA(name),
      shape: [adapters.rank, inputs],
      start: { deviation: 1 / Math.sqrt(3 * inputs) },
      decay: true,
    },
    { name: nameOfB(name), shape: [outputs, adapters.rank], start: { value: 0 }, decay: true },
  ]);
}

export function adaptedWeights(
  specs: readonly ParameterSpec[],
  { targets, lowest }: Pick<Adapters, 'targets' | 'lowest'>,
): ParameterSpec[] {
  return specs.filter(({ part, role }) => {
    if (role === undefined || role === 'words' || role === 'table') return false;
    const own = role === FUSED ? FUSED_TARGETS : [role];
    return typeof part === 'number' && part >= lowest && own.some((each) => targets.includes(each));
  });
}

/** As PEFT names them. */
const nameOfA = (weight: string): string => weight.replace(/\.weight$/, '.lora_A.weight');
const nameOfB = (weight: string): string => weight.replace(/\.weight$/, '.lora_B.weight');

function linearAdapter(specs: readonly ParameterSpec[], adapters: Adapters): LinearAdapter {
  const shapes = new Map(adapterParameters(specs, adapters).map(({ name, shape }) => [name, shape]));
  const scale = adapters.alpha / adapters.rank;
  return (graph, { weight, x, y, factor }, dropout) => {
    const [nameA, nameB] = [nameOfA(weight.name), nameOfB(weight.name)];
    const [shapeA, shapeB] = [shapes.get(nameA), shapes.get(nameB)];
    if (shapeA === undefined || shapeB === undefined) return y;
    const a = parameter(graph, nameA, shapeA);
    const b = parameter(graph, nameB, shapeB);
    const narrow = graph.gemm(dropout(x, adapters.dropout), a, { transposeB: true });
    return graph.gemm(narrow, b, { transposeB: true, alpha: factor * scale }, y);
  };
}

/** A parameter of the graph; a layer that is used several times has one. */
function parameter(graph: Graph, name: string, shape: readonly number[]) {
  return graph.parameters.find((known) => known.name === name) ?? graph.parameter(name, shape);
}

/** W + (alpha / rank)·B·A, summed in 64 bits. @throws RangeError if the layer has no adapter. */
export function mergedWeight(
  { name }: Pick<ParameterSpec, 'name'>,
  adapters: Adapters,
  trained: Weights,
  frozen: Float32Array,
): Float32Array {
  const [a, b] = [trained.get(nameOfA(name)), trained.get(nameOfB(name))];
  if (a === undefined || b === undefined) throw new RangeError(`${name} has no adapter`);
  const { rank, alpha } = adapters;
  const inputs = a.length / rank;
  const sum = new Float64Array(frozen);
  for (let output = 0; output < b.length / rank; output += 1) {
    const row = sum.subarray(output * inputs, (output + 1) * inputs);
    for (let at = 0; at < rank; at += 1) {
      const factor = (alpha / rank) * (b[output * rank + at] ?? 0);
      const from = at * inputs;
      for (let input = 0; input < inputs; input += 1) {
        row[input] = (row[input] ?? 0) + factor * (a[from + input] ?? 0);
      }
    }
  }
  return new Float32Array(sum);
}
