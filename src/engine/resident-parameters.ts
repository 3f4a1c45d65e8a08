import { type ResidentMemory, type ResidentTensor, volume } from '../graph/index.js';
import type { AdamWTensors } from './adamw.js';
import type { LearnedParameters, ParameterDefinition, ParameterState, Weights } from './parameters.js';

/** A parameter's weights and moments in an executor's memory, all of its shape. */
type ResidentParameter = AdamWTensors<ResidentTensor>;

type Shaped = Pick<ParameterDefinition, 'name' | 'shape'>;

/** Weights and moments in an executor's memory. Everything is zero at first. */
export class ResidentParameters implements LearnedParameters {
  readonly parameters: readonly ParameterDefinition[];
  readonly #memory: ResidentMemory;
  readonly #tensors = new Map<string, ResidentParameter>();

  private constructor(memory: ResidentMemory, parameters: readonly ParameterDefinition[]) {
    this.#memory = memory;
    this.parameters = parameters;
  }

  static async create(memory: ResidentMemory, parameters: readonly ParameterDefinition[]): Promise<ResidentParameters> {
    const made = new ResidentParameters(memory, parameters);
    for (const { name, shape } of parameters) {
      const zeros = new Float32Array(volume(shape));
      await made.restore([{ name, shape, weights: zeros, firstMoments: zeros, secondMoments: zeros }]);
    }
    return made;
  }

  /** @throws RangeError if no parameter has this name. */
  get(name: string): ResidentParameter {
    const tensors = this.#tensors.get(name);
    if (tensors === undefined) throw new RangeError(`no parameter ${JSON.stringify(name)}`);
    return tensors;
  }

  /** Puts new tensors in the place of a parameter's, which are freed unless they are among the new ones. */
  replace(name: string, tensors: ResidentParameter): void {
    const earlier = this.#tensors.get(name);
    this.#tensors.set(name, tensors);
    const kept = new Set(tensorsOf(tensors));
    for (const tensor of earlier ? tensorsOf(earlier) : []) if (!kept.has(tensor)) this.#memory.free(tensor);
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
      const { weights, firstMoments, secondMoments } = this.get(name);
      states.push({
        name,
        shape,
        weights: await this.#read(weights),
        firstMoments: await this.#read(firstMoments),
        secondMoments: await this.#read(secondMoments),
      });
    }
    return states;
  }

  async restore(states: readonly ParameterState[]): Promise<void> {
    for (const state of states) {
      this.replace(state.name, {
        weights: await this.#upload(state, state.weights),
        firstMoments: await this.#upload(state, state.firstMoments),
        secondMoments: await this.#upload(state, state.secondMoments),
      });
    }
  }

  free(): void {
    for (const tensors of this.#tensors.values()) {
      for (const tensor of tensorsOf(tensors)) this.#memory.free(tensor);
    }
    this.#tensors.clear();
  }

  /** @throws RangeError if there are more or fewer numbers than the parameter has. */
  #upload({ name, shape }: Shaped, data: Float32Array): Promise<ResidentTensor> {
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

const tensorsOf = ({ weights, firstMoments, secondMoments }: ResidentParameter): ResidentTensor[] => [
  weights,
  firstMoments,
  secondMoments,
];
