import { readFile } from 'node:fs/promises';
import { isOrchardError, TrainingError } from '../contract/index.js';
import { type CompileOptions, volume } from '../graph/index.js';
import { decodeSafetensors, encodeSafetensors, type NamedTensor } from '../models/index.js';
import { replaceFile } from '../system/index.js';
import { Arena } from './kernels/arena.js';
import type { AdamWArrays, Kernels } from './kernels/kernels.js';

/** Weights by parameter name, each row-major in the parameter's shape. */
export type Weights = ReadonlyMap<string, Float32Array>;

/** Weights that don't learn, by parameter name: in memory, or in a file that all graphs share. */
export type FrozenWeights = Pick<CompileOptions, 'weights' | 'stored'>;

export function isFrozen({ weights, stored }: FrozenWeights, name: string): boolean {
  return weights?.has(name) === true || stored?.offsets.has(name) === true;
}

export interface ParameterDefinition {
  readonly name: string;
  readonly shape: readonly number[];
  /** Whether weight decay applies: false for biases and LayerNorm. */
  readonly decay: boolean;
}

export interface ParameterState extends Omit<AdamWArrays, 'gradients'> {
  readonly name: string;
  readonly shape: readonly number[];
}

type MaybePromise<T> = T | Promise<T>;

export interface LearnedParameters {
  readonly parameters: readonly ParameterDefinition[];
  copyWeights(): MaybePromise<Weights>;
  /** Overwrites the given weights; the others stay. */
  setWeights(given: Weights): MaybePromise<void>;
  /** Weights and moments of all parameters. The arrays are only valid until the next step. */
  state(): MaybePromise<readonly ParameterState[]>;
  restore(states: readonly ParameterState[]): MaybePromise<void>;
}

/** A tensor being trained, row-major in `shape`. Every array is a view of the arena. */
interface Parameter extends ParameterDefinition, AdamWArrays {}

interface ParameterRegion extends AdamWArrays {
  readonly decay: boolean;
}

/** Floats per cache line, at which every parameter starts. The padding between them stays 0 throughout training. */
const ALIGNMENT = 16;

/** Weights, gradients and moments, each contiguous in an arena: decayed parameters first. Zero at first. */
export class ParameterStore implements LearnedParameters {
  readonly parameters: readonly Parameter[];
  /** The decayed parameters, then the others; `gradients` is what an optimizer step reads. */
  readonly regions: readonly ParameterRegion[];
  readonly #byName: ReadonlyMap<string, Parameter>;
  readonly #kernels: Kernels;
  readonly #batchGradients: Float32Array;
  readonly #gradientSum: Float32Array | undefined;
  #accumulatedWeight = 0;

  /** @param accumulate reserves room for a sum of gradients, so that one step can average several batches. */
  constructor(arena: Arena, kernels: Kernels, definitions: readonly ParameterDefinition[], accumulate = false) {
    const { count, decayedCount, starts } = layOut(definitions);
    const arrays: AdamWArrays = {
      weights: arena.float32(count),
      gradients: arena.float32(count),
      firstMoments: arena.float32(count),
      secondMoments: arena.float32(count),
    };
    this.#kernels = kernels;
    this.#batchGradients = arrays.gradients;
    this.#gradientSum = accumulate ? arena.float32(count) : undefined;
    this.parameters = definitions.map((definition, at) => {
      const start = starts[at] ?? 0;
      return { ...definition, ...slice(arrays, start, start + volume(definition.shape)) };
    });
    this.#byName = new Map(this.parameters.map((parameter) => [parameter.name, parameter]));
    const stepped = { ...arrays, gradients: this.#gradientSum ?? arrays.gradients };
    this.regions = [
      { decay: true, ...slice(stepped, 0, decayedCount) },
      { decay: false, ...slice(stepped, decayedCount, count) },
    ];
  }

  static bytesFor(definitions: readonly ParameterDefinition[], accumulate = false): number {
    const { count } = layOut(definitions);
    return Arena.bytesFor(Array.from({ length: accumulate ? 5 : 4 }, () => count));
  }

  get(name: string): Parameter {
    const parameter = this.#byName.get(name);
    if (parameter === undefined) throw new RangeError(`no parameter ${JSON.stringify(name)}`);
    return parameter;
  }

  copyWeights(): Weights {
    return new Map(this.parameters.map(({ name, weights }) => [name, weights.slice()]));
  }

  setWeights(given: Weights): void {
    for (const { name, weights } of this.parameters) weights.set(given.get(name) ?? weights);
  }

  state(): readonly ParameterState[] {
    return this.parameters;
  }

  /** @throws RangeError if one of them isn't here, or has more elements. */
  restore(states: readonly ParameterState[]): void {
    for (const { name, weights, firstMoments, secondMoments } of states) {
      const parameter = this.get(name);
      parameter.weights.set(weights);
      parameter.firstMoments.set(firstMoments);
      parameter.secondMoments.set(secondMoments);
    }
  }

  /** Adds the gradients to the next step's sum. @param weight what the mean loss was divided by, such as rows. */
  accumulateGradients(weight: number): void {
    if (this.#gradientSum === undefined) throw new RangeError('this store was made without `accumulate`');
    this.#kernels.accumulate(this.#gradientSum, this.#batchGradients, weight);
    this.#accumulatedWeight += weight;
  }

  /** Turns the regions' gradients into their mean. @throws RangeError if nothing was accumulated. */
  get gradientScale(): number {
    if (this.#gradientSum === undefined) return 1;
    if (this.#accumulatedWeight === 0) throw new RangeError('no gradients were accumulated for this step');
    return 1 / this.#accumulatedWeight;
  }

  clearAccumulatedGradients(): void {
    if (this.#gradientSum === undefined) return;
    this.#kernels.fill(this.#gradientSum, 0);
    this.#accumulatedWeight = 0;
  }
}

interface Layout {
  /** Floats of all parameters, padding included. */
  readonly count: number;
  readonly decayedCount: number;
  /** Where each parameter starts, in floats, in the order of the definitions. */
  readonly starts: readonly number[];
}

function layOut(definitions: readonly ParameterDefinition[]): Layout {
  const names = new Set<string>();
  const counts = { decayed: 0, others: 0 };
  const starts = definitions.map(({ name, shape, decay }) => {
    if (names.has(name)) throw new RangeError(`parameter ${JSON.stringify(name)} is defined twice`);
    names.add(name);
    const kind = decay ? 'decayed' : 'others';
    const start = counts[kind];
    counts[kind] += ALIGNMENT * Math.ceil(volume(shape) / ALIGNMENT);
    return start;
  });
  return {
    count: counts.decayed + counts.others,
    decayedCount: counts.decayed,
    starts: starts.map((start, at) => (definitions[at]?.decay ? start : counts.decayed + start)),
  };
}

function slice(arrays: AdamWArrays, start: number, end: number): AdamWArrays {
  return {
    weights: arrays.weights.subarray(start, end),
    gradients: arrays.gradients.subarray(start, end),
    firstMoments: arrays.firstMoments.subarray(start, end),
    secondMoments: arrays.secondMoments.subarray(start, end),
  };
}

interface CheckpointContent {
  readonly state: unknown;
  /** A second set of weights by parameter name, such as those of the best epoch so far. Default: none. */
  readonly best?: Weights;
}

export interface Checkpoint {
  /** Not validated yet: any program may have written the file. */
  readonly state: unknown;
  readonly tensors: ReadonlyMap<string, NamedTensor>;
}

const STATE = 'orchard.training_state';

/**
 * Writes everything that is needed to resume training into one safetensors file, each tensor under the parameter's name
 * with a prefix: `weights/`, `first/` and `second/` for the moments, and `best/`. The file is replaced atomically:
 * after a crash, the previous checkpoint is still there.
 */
export async function saveCheckpoint(
  file: string,
  store: LearnedParameters,
  { state, best }: CheckpointContent,
): Promise<void> {
  const tensors = new Map<string, NamedTensor>();
  for (const { name, shape, weights, firstMoments, secondMoments } of await store.state()) {
    tensors.set(`weights/${name}`, { shape, values: weights });
    tensors.set(`first/${name}`, { shape, values: firstMoments });
    tensors.set(`second/${name}`, { shape, values: secondMoments });
    if (best !== undefined) tensors.set(`best/${name}`, { shape, values: best.get(name) ?? weights });
  }
  await replaceFile(file, encodeSafetensors(tensors, { [STATE]: JSON.stringify(state) }), {
    draft: `${file}.draft`,
  });
}

/** @returns undefined if there is no such file, or it holds no checkpoint. */
export async function readCheckpoint(file: string): Promise<Checkpoint | undefined> {
  const bytes = await readFile(file).catch(() => undefined);
  if (bytes === undefined) return undefined;
  try {
    const { metadata, tensors } = decodeSafetensors(bytes, file);
    const json = metadata[STATE];
    return json === undefined ? undefined : { state: JSON.parse(json), tensors };
  } catch (thrown) {
    if (isOrchardError(thrown) || thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

/** @throws TrainingError if the checkpoint is of other parameters; nothing is changed then */
export async function restoreParameters({ tensors }: Checkpoint, store: LearnedParameters): Promise<void> {
  const states = store.parameters.map(({ name, shape }): ParameterState => {
    const valuesOf = (kind: string) => fittingValues(tensors, `${kind}/${name}`, volume(shape));
    const moments = { firstMoments: valuesOf('first'), secondMoments: valuesOf('second') };
    return { name, shape, weights: valuesOf('weights'), ...moments };
  });
  await store.restore(states);
}

function fittingValues(tensors: Checkpoint['tensors'], name: string, size: number): Float32Array {
  const values = tensors.get(name)?.values;
  if (values?.length === size) return values;
  const found = values === undefined ? 'is missing' : `has ${values.length} elements`;
  const problem = `tensor ${name} ${found}, expected ${size} elements`;
  throw new TrainingError(`checkpoint: ${problem}; it belongs to another model, so start a new training run`);
}

/** @param kind `best` for the second set of weights. */
export function checkpointTensors(
  { tensors }: Checkpoint,
  kind: 'weights' | 'best' = 'weights',
): Map<string, NamedTensor> {
  const prefix = `${kind}/`;
  const found = [...tensors].filter(([name]) => name.startsWith(prefix));
  return new Map(found.map(([name, tensor]) => [name.slice(prefix.length), tensor]));
}
