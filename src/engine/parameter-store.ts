import { Arena, type Kernels } from '../kernels/index.js';
import type {
  LearnedParameters,
  ParameterDefinition,
  ParameterState,
  Weights,
} from './learned-parameters.js';

/** The numbers of some parameters. Every array is a view of the arena. */
interface ParameterArrays {
  readonly weights: Float32Array;
  readonly gradients: Float32Array;
  /** The optimizer's numbers for each weight, by the names of its slots. */
  readonly slots: Weights;
}

/** A tensor being trained, row-major in `shape`. */
export interface Parameter extends ParameterDefinition, ParameterArrays {}

/** All parameters with the same decay setting, as one contiguous piece of memory. */
export interface ParameterRegion extends ParameterArrays {
  readonly decay: boolean;
}

export interface ParameterStoreOptions {
  /** Reserves room for a sum of gradients, so that one step can average several batches. Default false. */
  readonly accumulate?: boolean;
  /** Names of the arrays that the optimizer keeps beside the weights. Default: none. */
  readonly slots?: readonly string[];
}

/**
 * Floats per cache line, at which every parameter starts. The padding between them stays 0 throughout
 * training.
 */
const ALIGNMENT = 16;

/**
 * Weights, gradients and optimizer slots of a model's trained parameters, each kind contiguous in an arena:
 * first the parameters with weight decay, then the others. Everything is zero at first.
 */
export class ParameterStore implements LearnedParameters {
  /** In the order of the definitions. */
  readonly parameters: readonly Parameter[];
  /** The decayed parameters, then the others; `gradients` is what an optimizer step reads. */
  readonly regions: readonly ParameterRegion[];
  readonly slots: readonly string[];
  readonly #byName: ReadonlyMap<string, Parameter>;
  readonly #kernels: Kernels;
  readonly #batchGradients: Float32Array;
  readonly #gradientSum: Float32Array | undefined;
  #accumulatedWeight = 0;

  /**
   * @param kernels loaded over the same arena.
   * @throws RangeError if the arena has too little room left (see {@link ParameterStore.bytesFor}) or a name
   *   occurs twice.
   */
  constructor(
    arena: Arena,
    kernels: Kernels,
    definitions: readonly ParameterDefinition[],
    { accumulate = false, slots = [] }: ParameterStoreOptions = {},
  ) {
    requireUniqueNames(definitions);
    const { count, decayedCount, placed } = layOut(definitions);
    const arrays: ParameterArrays = {
      weights: arena.float32(count),
      gradients: arena.float32(count),
      slots: new Map(slots.map((name) => [name, arena.float32(count)])),
    };
    this.slots = slots;
    this.#kernels = kernels;
    this.#batchGradients = arrays.gradients;
    this.#gradientSum = accumulate ? arena.float32(count) : undefined;
    this.parameters = placed.map(({ definition, start }) => ({
      ...definition,
      ...slice(arrays, start, elementCount(definition.shape)),
    }));
    this.#byName = new Map(this.parameters.map((parameter) => [parameter.name, parameter]));
    const stepped = { ...arrays, gradients: this.#gradientSum ?? arrays.gradients };
    this.regions = [
      { decay: true, ...slice(stepped, 0, decayedCount) },
      { decay: false, ...slice(stepped, decayedCount, count - decayedCount) },
    ];
  }

  /** Bytes that a store of these parameters takes in an arena. */
  static bytesFor(
    definitions: readonly ParameterDefinition[],
    { accumulate = false, slots = [] }: ParameterStoreOptions = {},
  ): number {
    const runs = (accumulate ? 3 : 2) + slots.length;
    return Arena.bytesFor(Array.from({ length: runs }, () => layOut(definitions).count));
  }

  /** @throws RangeError if no parameter has this name. */
  get(name: string): Parameter {
    const parameter = this.#byName.get(name);
    if (parameter === undefined) throw new RangeError(`no parameter ${JSON.stringify(name)}`);
    return parameter;
  }

  /** A copy of all weights. */
  copyWeights(): Weights {
    return new Map(this.parameters.map(({ name, weights }) => [name, weights.slice()]));
  }

  /** Overwrites the weights that are given; the others stay. */
  setWeights(given: Weights): void {
    for (const { name, weights } of this.parameters) weights.set(given.get(name) ?? weights);
  }

  /** Views of this store's own arrays. */
  state(): readonly ParameterState[] {
    return this.parameters;
  }

  /** @throws RangeError if one of them isn't here, or has more elements. */
  restore(states: readonly ParameterState[]): void {
    for (const { name, weights, slots } of states) {
      const parameter = this.get(name);
      parameter.weights.set(weights);
      for (const [slot, values] of parameter.slots) values.set(slots.get(slot) ?? values);
    }
  }

  /**
   * Adds the parameters' current gradients to the sum that the next optimizer step averages.
   * @param weight what the batch's mean loss was divided by, such as its number of rows: with these weights,
   *   batches of any sizes add up to the gradient of one large batch.
   * @throws RangeError if the store was made without `accumulate`.
   */
  accumulateGradients(weight: number): void {
    if (this.#gradientSum === undefined) throw new RangeError('this store was made without `accumulate`');
    this.#kernels.accumulate(this.#gradientSum, this.#batchGradients, weight);
    this.#accumulatedWeight += weight;
  }

  /**
   * Factor that turns the regions' gradients into their mean; 1 without accumulation.
   * @throws RangeError if nothing was accumulated since the last step.
   */
  get gradientScale(): number {
    if (this.#gradientSum === undefined) return 1;
    if (this.#accumulatedWeight === 0) throw new RangeError('no gradients were accumulated for this step');
    return 1 / this.#accumulatedWeight;
  }

  /** Resets the sum; the optimizer calls this after each step. */
  clearAccumulatedGradients(): void {
    if (this.#gradientSum === undefined) return;
    this.#kernels.fill(this.#gradientSum, 0);
    this.#accumulatedWeight = 0;
  }
}

interface Layout {
  /** Floats of all parameters, padding included. */
  readonly count: number;
  /** Floats of the decayed ones, which come first. */
  readonly decayedCount: number;
  /** Where each parameter starts, in floats, in the order of the definitions. */
  readonly placed: readonly { readonly definition: ParameterDefinition; readonly start: number }[];
}

function layOut(definitions: readonly ParameterDefinition[]): Layout {
  const decayedCount = paddedCount(definitions.filter(({ decay }) => decay));
  let nextDecayed = 0;
  let nextOther = decayedCount;
  const placed = definitions.map((definition) => {
    const start = definition.decay ? nextDecayed : nextOther;
    const end = start + paddedCount([definition]);
    if (definition.decay) nextDecayed = end;
    else nextOther = end;
    return { definition, start };
  });
  return { count: nextOther, decayedCount, placed };
}

function paddedCount(definitions: readonly ParameterDefinition[]): number {
  const lines = definitions.map(({ shape }) => Math.ceil(elementCount(shape) / ALIGNMENT));
  return ALIGNMENT * lines.reduce((sum, count) => sum + count, 0);
}

function requireUniqueNames(definitions: readonly ParameterDefinition[]): void {
  const seen = new Set<string>();
  for (const { name } of definitions) {
    if (seen.has(name)) throw new RangeError(`parameter ${JSON.stringify(name)} is defined twice`);
    seen.add(name);
  }
}

function slice(
  { weights, gradients, slots }: ParameterArrays,
  start: number,
  length: number,
): ParameterArrays {
  const end = start + length;
  return {
    weights: weights.subarray(start, end),
    gradients: gradients.subarray(start, end),
    slots: new Map([...slots].map(([name, values]) => [name, values.subarray(start, end)])),
  };
}

function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
