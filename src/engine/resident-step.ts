import {
  Graph,
  type ResidentGraph,
  type ResidentMemory,
  type ResidentTensor,
  type Tensor,
  type TensorData,
} from '../graph/index.js';
import type { ScaledGradients } from './gradient-sum.js';
import type { ParameterDefinition } from './learned-parameters.js';
import { clippingOf, type OptimizerKind, type StepOptions, type UpdateRule } from './optimizer.js';
import { inGroups } from './parameter-groups.js';
import type { ResidentParameters } from './resident-parameters.js';

/** An optimizer that can be computed in a graph. */
export type GraphOptimizer = Required<Pick<OptimizerKind, 'slots' | 'update'>>;

const SUM_OF_SQUARES = 'sum of squares';
const NEXT = 'next ';

interface Group {
  readonly parameters: readonly ParameterDefinition[];
  readonly graph: ResidentGraph;
}

/** One optimizer step on tensors that stay: the norm of all gradients, clipping, and the update of every weight. */
export class ResidentStep {
  /** Steps taken. */
  steps = 0;
  readonly #store: ResidentParameters;
  readonly #update: UpdateRule;
  readonly #norm: ResidentGraph;
  readonly #groups: readonly Group[];

  private constructor(
    store: ResidentParameters,
    update: UpdateRule,
    norm: ResidentGraph,
    groups: readonly Group[],
  ) {
    this.#store = store;
    this.#update = update;
    this.#norm = norm;
    this.#groups = groups;
  }

  /** @param store made with the optimizer's slots. */
  static async create(
    memory: ResidentMemory,
    store: ResidentParameters,
    { slots, update }: GraphOptimizer,
  ): Promise<ResidentStep> {
    const norm = await memory.compile(sumOfSquares(store.parameters), { stays: new Set() });
    const groups: Group[] = [];
    for (const parameters of inGroups(store.parameters)) {
      const graph = updateGraph(parameters, slots, update);
      groups.push({
        parameters,
        graph: await memory.compile(graph, { stays: new Set(graph.outputs.keys()) }),
      });
    }
    return new ResidentStep(store, update, norm, groups);
  }

  /**
   * @param gradients of all parameters; they are left as they are.
   * @returns their norm before clipping, scaled.
   * @throws TrainingError if it isn't finite; nothing is changed then
   */
  async take(
    { gradients, scale }: ScaledGradients,
    learningRate: number,
    options: StepOptions = {},
  ): Promise<number> {
    const squares = new Float32Array(1);
    const fed = Object.fromEntries([...gradients].map(([name, tensor]) => [gradientInput(name), tensor]));
    await this.#norm.run(fed, { [SUM_OF_SQUARES]: { type: 'float32', dims: [], data: squares } });
    const norm = scale * Math.sqrt(squares[0] ?? Number.NaN);
    const gradientScale = scale * clippingOf(norm, this.steps + 1, options);
    this.steps += 1;
    const scalars = this.#update.scalarsAt({ step: this.steps, learningRate, gradientScale });
    for (const group of this.#groups) await this.#updateGroup(group, fed, scalars);
    return norm;
  }

  async release(): Promise<void> {
    await this.#norm.release();
    for (const { graph } of this.#groups) await graph.release();
  }

  async #updateGroup(
    { parameters, graph }: Group,
    gradients: Readonly<Record<string, ResidentTensor>>,
    scalars: Readonly<Record<string, number>>,
  ): Promise<void> {
    const feeds = new Map<string, ResidentTensor | TensorData>();
    for (const [name, value] of Object.entries(scalars)) {
      feeds.set(name, { type: 'float32', dims: [], data: Float32Array.of(value) });
    }
    for (const { name } of parameters) {
      const { weights, slots } = this.#store.get(name);
      feeds.set(weightInput(name), weights);
      for (const [slot, tensor] of slots) feeds.set(slotInput(slot, name), tensor);
      const gradient = gradients[gradientInput(name)];
      if (gradient !== undefined) feeds.set(gradientInput(name), gradient);
    }
    const next = new Map(Object.entries(await graph.run(Object.fromEntries(feeds), {})));
    for (const { name } of parameters) {
      const slots = this.#store.slots.map((slot) => [slot, left(next, slotInput(slot, name))] as const);
      this.#store.replace(name, { weights: left(next, weightInput(name)), slots: new Map(slots) });
    }
  }
}

const weightInput = (name: string): string => `weights ${name}`;
const gradientInput = (name: string): string => `gradient ${name}`;
const slotInput = (slot: string, name: string): string => `slot ${slot} ${name}`;

function left(tensors: ReadonlyMap<string, ResidentTensor>, name: string): ResidentTensor {
  const tensor = tensors.get(NEXT + name);
  if (tensor === undefined) throw new RangeError(`the update left no ${name}`);
  return tensor;
}

/** The update of some parameters as one graph. */
function updateGraph(
  parameters: readonly ParameterDefinition[],
  slots: readonly string[],
  rule: UpdateRule,
): Graph {
  const graph = new Graph();
  const scalars = new Map(rule.scalars.map((name) => [name, graph.input(name, 'float32', [])]));
  for (const { name, shape, decay } of parameters) {
    const next = rule.add(graph, {
      weights: graph.input(weightInput(name), 'float32', shape),
      gradients: graph.input(gradientInput(name), 'float32', shape),
      slots: new Map(slots.map((slot) => [slot, graph.input(slotInput(slot, name), 'float32', shape)])),
      scalars,
      decay,
    });
    graph.output(NEXT + weightInput(name), next.weights);
    for (const [slot, tensor] of next.slots) graph.output(NEXT + slotInput(slot, name), tensor);
  }
  return graph;
}

/** The sum of the squares of all gradients, one axis at a time: a device then adds many numbers side by side. */
function sumOfSquares(parameters: readonly ParameterDefinition[]): Graph {
  const graph = new Graph();
  let sum: Tensor = graph.constant([0], []);
  for (const { name, shape } of parameters) {
    const gradients = graph.input(gradientInput(name), 'float32', shape);
    let squares = graph.multiply(gradients, gradients);
    for (const _ of shape) squares = graph.reduceSum(squares, [-1]);
    sum = graph.add(sum, squares);
  }
  graph.output(SUM_OF_SQUARES, sum);
  return graph;
}
