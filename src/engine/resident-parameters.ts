import { type ResidentMemory, type ResidentTensor, volume } from '../graph/index.js';
import type {
  LearnedParameters,
  ParameterDefinition,
  ParameterState,
  Weights,
} from './learned-parameters.js';

/** A parameter's numbers in an executor's memory, all of its shape. */
export interface ResidentParameter {
  readonly weights: ResidentTensor;
  readonly slots: ReadonlyMap<string, ResidentTensor>;
}

/** Weights and optimizer slots in an executor's memory. Everything is zero at first. */
export class ResidentParameters implements LearnedParameters {
  readonly parameters: readonly ParameterDefinition[];
  readonly slots: readonly string[];
  readonly #memory: ResidentMemory;
  readonly #tensors = new Map<string, ResidentParameter>();

  private constructor(
    memory: ResidentMemory,
    parameters: readonly ParameterDefinition[],
    slots: readonly string[],
  ) {
    this.#memory = memory;
    this.parameters = parameters;
    this.slots = slots;
  }

  static async create(
    memory: ResidentMemory,
    parameters: readonly ParameterDefinition[],
    slots: readonly string[],
  ): Promise<ResidentParameters> {
    const made = new ResidentParameters(memory, parameters, slots);
    for (const parameter of parameters) {
      const zeros = new Float32Array(volume(parameter.shape));
      const arrays = new Map(slots.map((slot) => [slot, zeros]));
      await made.#write(parameter, zeros, arrays);
    }
    return made;
  }

  /** @throws RangeError if no parameter has this name. */
  get(name: string): ResidentParameter {
    const tensors = this.#tensors.get(name);
    if (tensors === undefined) throw new RangeError(`no parameter ${JSON.stringify(name)}`);
    return tensors;
  }

  /** Puts new tensors in the place of a parameter's, which are freed. */
  replace(name: string, tensors: ResidentParameter): void {
    const earlier = this.#tensors.get(name);
    this.#tensors.set(name, tensors);
    if (earlier === undefined) return;
    const kept = new Set([tensors.weights, ...tensors.slots.values()]);
    for (const tensor of [earlier.weights, ...earlier.slots.values()]) {
      if (!kept.has(tensor)) this.#memory.free(tensor);
    }
  }

  get weightFeeds(): Readonly<Record<string, ResidentTensor>> {
    return Object.fromEntries([...this.#tensors].map(([name, { weights }]) => [name, weights]));
  }

  async copyWeights(): Promise<Weights> {
    const copies = new Map<string, Float32Array>();
    for (const [name, { weights }] of this.#tensors) copies.set(name, await this.#read(weights));
    return copies;
  }

  async setWeights(given: Weights): Promise<void> {
    for (const parameter of this.parameters) {
      const values = given.get(parameter.name);
      if (values === undefined) continue;
      const weights = await this.#upload(parameter, values);
      this.replace(parameter.name, { ...this.get(parameter.name), weights });
    }
  }

  async state(): Promise<readonly ParameterState[]> {
    const states: ParameterState[] = [];
    for (const { name, shape } of this.parameters) {
      const { weights, slots } = this.get(name);
      const arrays = new Map<string, Float32Array>();
      for (const [slot, tensor] of slots) arrays.set(slot, await this.#read(tensor));
      states.push({ name, shape, weights: await this.#read(weights), slots: arrays });
    }
    return states;
  }

  async restore(states: readonly ParameterState[]): Promise<void> {
    for (const { weights, slots, ...parameter } of states) await this.#write(parameter, weights, slots);
  }

  free(): void {
    for (const { weights, slots } of this.#tensors.values()) {
      for (const tensor of [weights, ...slots.values()]) this.#memory.free(tensor);
    }
    this.#tensors.clear();
  }

  async #write(parameter: Shaped, weights: Float32Array, arrays: Weights): Promise<void> {
    const slots = new Map<string, ResidentTensor>();
    for (const [slot, values] of arrays) slots.set(slot, await this.#upload(parameter, values));
    this.replace(parameter.name, { weights: await this.#upload(parameter, weights), slots });
  }

  /** @throws RangeError if there are more or fewer numbers than the parameter has. */
  #upload(parameter: Shaped, data: Float32Array): Promise<ResidentTensor> {
    const { name, shape } = parameter;
    const expected = volume(shape);
    if (data.length !== expected)
      throw new RangeError(`${name} has ${expected} elements, but ${data.length} are given`);
    return this.#memory.upload({ type: 'float32', dims: shape, data });
  }

  async #read(tensor: ResidentTensor): Promise<Float32Array> {
    const { type, data } = await this.#memory.download(tensor);
    if (type !== 'float32') throw new RangeError(`weights are float32, not ${type}`);
    return data;
  }
}

type Shaped = Pick<ParameterDefinition, 'name' | 'shape'>;
