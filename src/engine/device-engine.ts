import { type Encoder, type ParameterSpec, trainingInputs } from '../encoder/index.js';
import {
  addGradients,
  type CompileOptions,
  type Feed,
  Graph,
  mergeDimensions,
  type ParameterGradient,
  type ResidentGraph,
  type ResidentMemory,
  type ResidentTensor,
  type RowGradient,
  ShapeError,
  type Tensor,
  type TensorData,
  volume,
} from '../graph/index.js';
import {
  type AdamWOptions,
  type AdamWStep,
  type AdamWTensors,
  adamWInputs,
  adamWScalars,
  addAdamW,
  clippingFactor,
  type StepOptions,
} from './adamw.js';
import { feedsFor, type PaddedBatch, splitsBatches } from './batches.js';
import type { Engine, EngineOptions, MaskState } from './engine.js';
import { GeneratedDropout } from './generated-dropout.js';
import type { Head, LossHead, LossTargets } from './head.js';
import type { LearnedParameters, ParameterDefinition, ParameterState, Weights } from './parameters.js';
import { gradientOutput, LOGITS, LOSS } from './training-graph.js';

/** Training whose tensors stay in an executor's memory, such as a GPU's. Its graphs make their own dropout masks. */

interface ForwardOnDevice {
  readonly graph: Graph;
  readonly dropout: GeneratedDropout;
}

interface TrainingOnDevice extends ForwardOnDevice {
  readonly rowSums: RowSums;
  gradientsIn(outputs: Readonly<Record<string, ResidentTensor>>): DeviceGradients;
}

function buildDeviceTraining(head: LossHead, encoder: Encoder, trainable: readonly ParameterSpec[]): TrainingOnDevice {
  const { graph, dropout, logits } = forward(head, encoder);
  const loss = head.loss(graph, logits);
  graph.output(LOSS, loss);
  const rowSums = new RowSums(graph);
  const names = new Set(trainable.map(({ name }) => name));
  for (const gradient of addGradients(graph, loss, names)) {
    graph.output(gradientOutput(gradient.parameter.name), rowSums.total(gradient));
  }
  return {
    graph,
    dropout,
    rowSums,
    gradientsIn: (outputs) =>
      new Map(
        [...names].flatMap((name) => {
          const tensor = outputs[gradientOutput(name)];
          return tensor === undefined ? [] : [[name, tensor] as const];
        }),
      ),
  };
}

/** The forward pass alone, with the same masks as in {@link buildDeviceTraining}. */
function buildDeviceForward(head: Head, encoder: Encoder): ForwardOnDevice {
  const { graph, dropout, logits } = forward(head, encoder);
  graph.output(LOGITS, logits);
  return { graph, dropout };
}

function forward(head: Head, encoder: Encoder) {
  const graph = new Graph();
  const dropout = new GeneratedDropout(graph);
  const logits = head.logits(graph, encoder, trainingInputs(graph), dropout.apply);
  return { graph, dropout, logits };
}

/** Tables with at most this many rows are compared with the indices row by row. */
const FEW_ROWS = 64;

/**
 * Sums sparse gradients in the graph. The rows of one table entry are picked by a matrix of zeros and ones and added in
 * a matrix product, always in the same order: a scatter with additions would add them in the order in which a device's
 * threads finish, and the same seed would give a different run each time.
 */
class RowSums {
  readonly #graph: Graph;
  /** Inputs for the entries that a batch reads, by the name of the indices. */
  readonly #entries = new Map<string, Tensor>();

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  total({ parameter, dense, rows }: ParameterGradient): Tensor {
    const parts = rows.map((each) => this.#sumOf(each, parameter));
    const [first, ...others] = dense === undefined ? parts : [dense, ...parts];
    if (first === undefined) throw new ShapeError(`${parameter.name} has no gradient`);
    return others.reduce((sum, part) => this.#graph.add(sum, part), first);
  }

  feeds({ feeds }: PaddedBatch): Record<string, TensorData> {
    const fed = Object.entries(feeds).flatMap(([name, feed]) => {
      const input = this.#entries.get(name);
      if (input === undefined || feed.type !== 'int32') return [];
      const data = Int32Array.from(new Set(feed.data)).sort();
      return [[input.name, { type: 'int32', dims: [data.length], data }] as const];
    });
    return Object.fromEntries(fed);
  }

  #sumOf({ rows, indices }: RowGradient, { name, shape }: Tensor): Tensor {
    const graph = this.#graph;
    const [count] = shape;
    if (typeof count !== 'number' || shape.length !== 2 || indices.source.kind !== 'input') {
      throw new ShapeError(`${name}: only the rows of a matrix, read by indices that are fed, can be summed`);
    }
    const read = graph.reshape(indices, [1, mergeDimensions(indices.shape)]);
    const each = graph.flattenRows(rows);
    if (count <= FEW_ROWS) {
      const all = Array.from({ length: count }, (_, row) => row);
      return graph.gemm(graph.equal(graph.constant(all, [count, 1], 'int32'), read), each);
    }
    const entries = this.#entriesOf(indices.name);
    const column = graph.reshape(entries, [...entries.shape, 1]);
    return graph.placeRows(graph.gemm(graph.equal(column, read), each), entries, count);
  }

  #entriesOf(indices: string): Tensor {
    const known = this.#entries.get(indices);
    if (known !== undefined) return known;
    const entries = this.#graph.input(`entries of ${indices}`, 'int32', [`distinct ${indices}`]);
    this.#entries.set(indices, entries);
    return entries;
  }
}

interface Compiled<Built> {
  readonly built: Built;
  readonly graph: ResidentGraph;
  readonly inputNames: ReadonlySet<string>;
}

interface EngineParts {
  readonly store: DeviceParameters;
  readonly step: DeviceAdamW;
  readonly training: Compiled<TrainingOnDevice>;
  readonly forward: Compiled<ForwardOnDevice> | undefined;
}

/**
 * An engine whose weights, gradients and moments stay in an executor's memory, such as a GPU's. Only ids and targets go
 * there, and only losses and the norm of the gradients come back.
 */
export class DeviceEngine implements Engine {
  readonly store: DeviceParameters;
  readonly accumulates: boolean;
  steps = 0;
  readonly #memory: ResidentMemory;
  readonly #parts: EngineParts;
  readonly #sum: GradientSum;
  readonly #outputs: number;
  readonly #loss = new Float32Array(1);
  /** Gradients of the last run, until they are added to the sum. */
  #gradients: DeviceGradients = new Map();
  #dropoutState: MaskState;

  private constructor(memory: ResidentMemory, parts: EngineParts, options: EngineOptions) {
    const { head, encoder, seed, trainable } = options;
    this.#memory = memory;
    this.#parts = parts;
    this.store = parts.store;
    this.accumulates = splitsBatches(encoder, options);
    this.#sum = new GradientSum(memory, trainable);
    this.#outputs = head.outputs(encoder);
    this.#dropoutState = { seed: seed >>> 0, position: 0, stream: 'graph' };
  }

  static async create(memory: ResidentMemory, options: EngineOptions): Promise<DeviceEngine> {
    const { head, encoder, trainable, frozen } = options;
    const training = buildDeviceTraining(head, encoder, trainable);
    const forward = options.forward ? buildDeviceForward(head, encoder) : undefined;
    const store = await DeviceParameters.create(memory, trainable);
    const stays = new Set([...training.graph.outputs.keys()].filter((name) => name !== LOSS));
    const parts: EngineParts = {
      store,
      training: await compiled(memory, training, { ...frozen, stays }),
      forward: forward && (await compiled(memory, forward, { ...frozen, stays: new Set() })),
      step: await DeviceAdamW.create(memory, store, options.adamW),
    };
    return new DeviceEngine(memory, parts, options);
  }

  get parameterFeeds(): Readonly<Record<string, ResidentTensor>> {
    return this.store.weightFeeds;
  }

  get dropoutState(): MaskState {
    return this.#dropoutState;
  }

  set dropoutState({ seed, position }: MaskState) {
    this.#dropoutState = { seed, position, stream: 'graph' };
  }

  async run(batch: PaddedBatch, targets: LossTargets): Promise<number> {
    const { built, graph, inputNames } = this.#parts.training;
    this.#freeGradients();
    if (!this.accumulates) this.#sum.clear();
    const feeds = {
      ...this.#feeds(batch, built, inputNames),
      ...built.rowSums.feeds(batch),
      ...targets.feeds,
    };
    const loss: TensorData = { type: 'float32', dims: [], data: this.#loss };
    const left = await graph.run(feeds, { [LOSS]: loss });
    this.#gradients = built.gradientsIn(left);
    if (!this.accumulates) await this.#addToSum(1);
    return this.#loss[0] ?? Number.NaN;
  }

  async outputs(batch: PaddedBatch): Promise<Float32Array> {
    const { forward } = this.#parts;
    if (forward === undefined) throw new RangeError('this engine was made without `forward`');
    const dims = [batch.sizes.batch, this.#outputs];
    const data = new Float32Array(batch.sizes.batch * this.#outputs);
    const feeds = this.#feeds(batch, forward.built, forward.inputNames);
    await forward.graph.run(feeds, { [LOGITS]: { type: 'float32', dims, data } });
    return data;
  }

  async accumulate(weight: number): Promise<void> {
    if (!this.accumulates) throw new RangeError('this engine was made for batches that are one run each');
    await this.#addToSum(weight);
  }

  async step(learningRate: number, options?: StepOptions): Promise<number> {
    const taken = { ...options, step: this.steps + 1, learningRate };
    const norm = await this.#parts.step.take(this.#sum.mean, taken);
    this.steps += 1;
    this.#sum.clear();
    this.#freeGradients();
    return norm;
  }

  async release(): Promise<void> {
    const { training, forward, step } = this.#parts;
    this.#freeGradients();
    this.store.free();
    for (const each of [training.graph, forward?.graph, step, this.#sum]) await each?.release();
  }

  async #addToSum(weight: number): Promise<void> {
    const gradients = this.#gradients;
    this.#gradients = new Map();
    await this.#sum.add(gradients, weight);
  }

  #feeds(
    batch: PaddedBatch,
    { dropout }: TrainingOnDevice | ForwardOnDevice,
    inputNames: ReadonlySet<string>,
  ): Record<string, TensorData | ResidentTensor> {
    const state = this.#dropoutState;
    this.#dropoutState = { ...state, position: state.position + 1 };
    return {
      ...this.store.weightFeeds,
      ...dropout.feeds(state, batch.sizes),
      ...feedsFor(batch, inputNames),
    };
  }

  #freeGradients(): void {
    for (const tensor of this.#gradients.values()) this.#memory.free(tensor);
    this.#gradients = new Map();
  }
}

async function compiled<Built extends { readonly graph: Graph }>(
  memory: ResidentMemory,
  built: Built,
  options: CompileOptions & { readonly stays: ReadonlySet<string> },
): Promise<Compiled<Built>> {
  const inputNames = new Set(built.graph.inputs.map(({ name }) => name));
  return { built, graph: await memory.compile(built.graph, options), inputNames };
}

type DeviceParameter = AdamWTensors<ResidentTensor>;

type Shaped = Pick<ParameterDefinition, 'name' | 'shape'>;

/** Weights and moments in an executor's memory. Everything is zero at first. */
class DeviceParameters implements LearnedParameters {
  readonly parameters: readonly ParameterDefinition[];
  readonly #memory: ResidentMemory;
  readonly #tensors = new Map<string, DeviceParameter>();

  private constructor(memory: ResidentMemory, parameters: readonly ParameterDefinition[]) {
    this.#memory = memory;
    this.parameters = parameters;
  }

  static async create(memory: ResidentMemory, parameters: readonly ParameterDefinition[]): Promise<DeviceParameters> {
    const made = new DeviceParameters(memory, parameters);
    for (const { name, shape } of parameters) {
      const zeros = new Float32Array(volume(shape));
      await made.restore([{ name, shape, weights: zeros, firstMoments: zeros, secondMoments: zeros }]);
    }
    return made;
  }

  get(name: string): DeviceParameter {
    const tensors = this.#tensors.get(name);
    if (tensors === undefined) throw new RangeError(`no parameter ${JSON.stringify(name)}`);
    return tensors;
  }

  /** Replaces a parameter's tensors, and frees the old ones that are not among the new ones. */
  replace(name: string, tensors: DeviceParameter): void {
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

const tensorsOf = ({ weights, firstMoments, secondMoments }: DeviceParameter): ResidentTensor[] => [
  weights,
  firstMoments,
  secondMoments,
];

type DeviceGradients = ReadonlyMap<string, ResidentTensor>;

type Feeds = Readonly<Record<string, Feed>>;

/**
 * Parameters are summed and updated in groups of about this many bytes of weights, one run per group: only one group's old
 * and new tensors are in memory together.
 */
const GROUP_BYTES = 64 * 1024 ** 2;

interface Group {
  readonly parameters: readonly ParameterDefinition[];
  readonly graph: ResidentGraph;
}

class GradientSum {
  readonly #memory: ResidentMemory;
  readonly #parameters: readonly ParameterDefinition[];
  /** Compiled when a step has a second run. */
  #groups: readonly Group[] | undefined;
  #gradients = new Map<string, ResidentTensor>();
  /** The sum is this times the gradients. */
  #factor = 1;
  #weight = 0;

  constructor(memory: ResidentMemory, parameters: readonly ParameterDefinition[]) {
    this.#memory = memory;
    this.#parameters = parameters;
  }

  /** @param gradients of all parameters; the sum owns them from now on. */
  async add(gradients: DeviceGradients, weight: number): Promise<void> {
    if (this.#weight === 0) {
      this.#gradients = new Map(gradients);
      this.#factor = weight;
    } else {
      this.#groups ??= await compiledGroups(this.#memory, this.#parameters, sumGraph);
      for (const group of this.#groups) await this.#addGroup(group, gradients, weight);
      this.#factor = 1;
    }
    this.#weight += weight;
  }

  /** The mean is `scale` times these gradients. @throws RangeError if nothing was added since the last step. */
  get mean(): { readonly gradients: DeviceGradients; readonly scale: number } {
    if (this.#weight === 0) throw new RangeError('no gradients were accumulated for this step');
    return { gradients: this.#gradients, scale: this.#factor / this.#weight };
  }

  clear(): void {
    for (const tensor of this.#gradients.values()) this.#memory.free(tensor);
    this.#gradients = new Map();
    this.#weight = 0;
  }

  async release(): Promise<void> {
    this.clear();
    for (const { graph } of this.#groups ?? []) await graph.release();
  }

  async #addGroup({ parameters, graph }: Group, gradients: DeviceGradients, weight: number): Promise<void> {
    const feeds: Record<string, Feed> = { factor: scalar(this.#factor), weight: scalar(weight) };
    const used = parameters.flatMap(({ name }) => {
      const [sum, added] = [this.#gradients.get(name), gradients.get(name)];
      if (sum === undefined || added === undefined) throw new RangeError(`${name} has no gradient`);
      feeds[`sum ${name}`] = sum;
      feeds[`added ${name}`] = added;
      return [sum, added];
    });
    const next = await graph.run(feeds, {});
    for (const [name, tensor] of Object.entries(next)) this.#gradients.set(name, tensor);
    for (const tensor of used) this.#memory.free(tensor);
  }
}

function sumGraph(parameters: readonly ParameterDefinition[]): Graph {
  const graph = new Graph();
  const [factor, weight] = [graph.input('factor', 'float32', []), graph.input('weight', 'float32', [])];
  for (const { name, shape } of parameters) {
    const sum = graph.multiply(graph.input(`sum ${name}`, 'float32', shape), factor);
    const added = graph.multiply(graph.input(`added ${name}`, 'float32', shape), weight);
    graph.output(name, graph.add(sum, added));
  }
  return graph;
}

class DeviceAdamW {
  readonly #store: DeviceParameters;
  readonly #norm: ResidentGraph;
  readonly #groups: readonly Group[];
  readonly #options: AdamWOptions | undefined;

  private constructor(
    store: DeviceParameters,
    norm: ResidentGraph,
    groups: readonly Group[],
    options: AdamWOptions | undefined,
  ) {
    this.#store = store;
    this.#norm = norm;
    this.#groups = groups;
    this.#options = options;
  }

  static async create(memory: ResidentMemory, store: DeviceParameters, options?: AdamWOptions): Promise<DeviceAdamW> {
    const norm = await memory.compile(sumOfSquaresGraph(store.parameters), { stays: new Set() });
    const update = (parameters: readonly ParameterDefinition[]) => updateGraph(parameters, options);
    const groups = await compiledGroups(memory, store.parameters, update);
    return new DeviceAdamW(store, norm, groups, options);
  }

  /**
   * @param mean the gradients of all parameters, which are left as they are.
   * @returns their norm before clipping, scaled.
   * @throws TrainingError if it isn't finite; nothing is changed then
   */
  async take({ gradients, scale }: GradientSum['mean'], taken: AdamWStep): Promise<number> {
    const squares = new Float32Array(1);
    const fed = Object.fromEntries([...gradients].map(([name, tensor]) => [gradientOf(name), tensor]));
    await this.#norm.run(fed, { squares: { type: 'float32', dims: [], data: squares } });
    const norm = scale * Math.sqrt(squares[0] ?? Number.NaN);
    const scalars = adamWScalars(taken, scale * clippingFactor(norm, taken), this.#options);
    const fedScalars = Object.entries(scalars).map(([name, value]) => [name, scalar(value)]);
    for (const group of this.#groups) await this.#update(group, fed, Object.fromEntries(fedScalars));
    return norm;
  }

  async release(): Promise<void> {
    await this.#norm.release();
    for (const { graph } of this.#groups) await graph.release();
  }

  async #update({ parameters, graph }: Group, gradients: Feeds, scalars: Feeds): Promise<void> {
    const feeds: Record<string, Feed> = { ...scalars };
    for (const { name } of parameters) {
      const { weights, firstMoments, secondMoments } = this.#store.get(name);
      feeds[weightsOf(name)] = weights;
      feeds[firstOf(name)] = firstMoments;
      feeds[secondOf(name)] = secondMoments;
      const gradient = gradients[gradientOf(name)];
      if (gradient !== undefined) feeds[gradientOf(name)] = gradient;
    }
    const next = await graph.run(feeds, {});
    const left = (name: string): ResidentTensor => {
      const tensor = next[NEXT + name];
      if (tensor === undefined) throw new RangeError(`the update left no ${name}`);
      return tensor;
    };
    for (const { name } of parameters) {
      this.#store.replace(name, {
        weights: left(weightsOf(name)),
        firstMoments: left(firstOf(name)),
        secondMoments: left(secondOf(name)),
      });
    }
  }
}

/** Names in the graph of an update; what it leaves has NEXT before it. */
const NEXT = 'next ';
const gradientOf = (name: string): string => `gradient ${name}`;
const weightsOf = (name: string): string => `weights ${name}`;
const firstOf = (name: string): string => `first ${name}`;
const secondOf = (name: string): string => `second ${name}`;

function updateGraph(parameters: readonly ParameterDefinition[], options?: AdamWOptions): Graph {
  const graph = new Graph();
  const scalars = adamWInputs(graph);
  for (const { name, shape, decay } of parameters) {
    const input = (inputName: string) => graph.input(inputName, 'float32', shape);
    const parameter = {
      weights: input(weightsOf(name)),
      gradients: input(gradientOf(name)),
      firstMoments: input(firstOf(name)),
      secondMoments: input(secondOf(name)),
      decay,
    };
    const next = addAdamW(graph, parameter, scalars, options);
    graph.output(NEXT + weightsOf(name), next.weights);
    graph.output(NEXT + firstOf(name), next.firstMoments);
    graph.output(NEXT + secondOf(name), next.secondMoments);
  }
  return graph;
}

/** The sum of the squares of all gradients, one axis at a time, so that a device adds many numbers in parallel. */
function sumOfSquaresGraph(parameters: readonly ParameterDefinition[]): Graph {
  const graph = new Graph();
  let sum: Tensor = graph.constant([0], []);
  for (const { name, shape } of parameters) {
    const gradients = graph.input(gradientOf(name), 'float32', shape);
    let squares = graph.multiply(gradients, gradients);
    for (const _ of shape) squares = graph.reduceSum(squares, [-1]);
    sum = graph.add(sum, squares);
  }
  graph.output('squares', sum);
  return graph;
}

/** Compiles a graph for each group of parameters, of at most 64 MiB unless a single parameter has more. */
async function compiledGroups(
  memory: ResidentMemory,
  parameters: readonly ParameterDefinition[],
  build: (parameters: readonly ParameterDefinition[]) => Graph,
): Promise<readonly Group[]> {
  const cut: ParameterDefinition[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const parameter of parameters) {
    const own = Float32Array.BYTES_PER_ELEMENT * volume(parameter.shape);
    if (bytes + own > GROUP_BYTES) {
      cut.push([]);
      bytes = 0;
    }
    cut.at(-1)?.push(parameter);
    bytes += own;
  }
  const groups: Group[] = [];
  for (const group of cut) {
    const graph = build(group);
    const stays = new Set(graph.outputs.keys());
    groups.push({ parameters: group, graph: await memory.compile(graph, { stays }) });
  }
  return groups;
}

function scalar(value: number): TensorData {
  return { type: 'float32', dims: [], data: Float32Array.of(value) };
}
