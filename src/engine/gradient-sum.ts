import {
  Graph,
  type ResidentGraph,
  type ResidentMemory,
  type ResidentTensor,
  type TensorData,
} from '../graph/index.js';
import type { ParameterDefinition } from './learned-parameters.js';
import { inGroups } from './parameter-groups.js';

/** Gradients in an executor's memory, by parameter name. */
export type ResidentGradients = ReadonlyMap<string, ResidentTensor>;

/** Gradients, and the factor that turns them into what a step is taken from. */
export interface ScaledGradients {
  readonly gradients: ResidentGradients;
  readonly scale: number;
}

interface Group {
  readonly names: readonly string[];
  readonly graph: ResidentGraph;
}

/** The weighted sum of the gradients of a step's runs, in an executor's memory. */
export class GradientSum {
  readonly #memory: ResidentMemory;
  readonly #groups: readonly Group[];
  #gradients = new Map<string, ResidentTensor>();
  /** What the sum so far is to be multiplied by. */
  #factor = 1;
  #weight = 0;

  private constructor(memory: ResidentMemory, groups: readonly Group[]) {
    this.#memory = memory;
    this.#groups = groups;
  }

  static async create(
    memory: ResidentMemory,
    parameters: readonly ParameterDefinition[],
  ): Promise<GradientSum> {
    const groups: Group[] = [];
    for (const group of inGroups(parameters)) {
      const graph = await memory.compile(sums(group), { stays: new Set(group.map(({ name }) => name)) });
      groups.push({ names: group.map(({ name }) => name), graph });
    }
    return new GradientSum(memory, groups);
  }

  /** @param gradients of all parameters; they belong to the sum from now on. @param weight what they count. */
  async add(gradients: ResidentGradients, weight: number): Promise<void> {
    if (this.#weight === 0) {
      this.#gradients = new Map(gradients);
      this.#factor = weight;
    } else {
      for (const group of this.#groups) await this.#addGroup(group, gradients, weight);
      this.#factor = 1;
    }
    this.#weight += weight;
  }

  /** The mean of what was added. @throws RangeError if nothing was added since the last step. */
  get mean(): ScaledGradients {
    if (this.#weight === 0) throw new RangeError('no gradients were accumulated for this step');
    return { gradients: this.#gradients, scale: this.#factor / this.#weight };
  }

  /** Starts a new sum. */
  clear(): void {
    for (const tensor of this.#gradients.values()) this.#memory.free(tensor);
    this.#gradients = new Map();
    this.#weight = 0;
  }

  async release(): Promise<void> {
    this.clear();
    for (const { graph } of this.#groups) await graph.release();
  }

  async #addGroup({ names, graph }: Group, gradients: ResidentGradients, weight: number): Promise<void> {
    const feeds = new Map<string, ResidentTensor | TensorData>([
      [FACTOR, scalar(this.#factor)],
      [WEIGHT, scalar(weight)],
    ]);
    const used = names.flatMap((name) => {
      const [sum, added] = [this.#gradients.get(name), gradients.get(name)];
      if (sum === undefined || added === undefined) throw new RangeError(`${name} has no gradient`);
      feeds.set(sumInput(name), sum).set(addedInput(name), added);
      return [sum, added];
    });
    const next = await graph.run(Object.fromEntries(feeds), {});
    for (const [name, tensor] of Object.entries(next)) this.#gradients.set(name, tensor);
    for (const tensor of used) this.#memory.free(tensor);
  }
}

const FACTOR = 'factor';
const WEIGHT = 'weight';
const sumInput = (name: string): string => `sum ${name}`;
const addedInput = (name: string): string => `added ${name}`;

/** factor·sum + weight·added, for each parameter under its name. */
function sums(parameters: readonly ParameterDefinition[]): Graph {
  const graph = new Graph();
  const [factor, weight] = [graph.input(FACTOR, 'float32', []), graph.input(WEIGHT, 'float32', [])];
  for (const { name, shape } of parameters) {
    const sum = graph.multiply(graph.input(sumInput(name), 'float32', shape), factor);
    const added = graph.multiply(graph.input(addedInput(name), 'float32', shape), weight);
    graph.output(name, graph.add(sum, added));
  }
  return graph;
}

function scalar(value: number): TensorData {
  return { type: 'float32', dims: [], data: Float32Array.of(value) };
}
