/** Weights by parameter name, each row-major in the parameter's shape. */
export type Weights = ReadonlyMap<string, Float32Array>;

/** A tensor to be trained, before it has a place in memory. */
export interface ParameterDefinition {
  readonly name: string;
  readonly shape: readonly number[];
  /** Whether weight decay applies: false for biases and LayerNorm. */
  readonly decay: boolean;
}

/** All that has been learned about one parameter. */
export interface ParameterState {
  readonly name: string;
  readonly shape: readonly number[];
  readonly weights: Float32Array;
  /** The optimizer's numbers for each weight, by the names of its slots. */
  readonly slots: Weights;
}

/** What comes at once from this process's memory, and later from a device's. */
type SoonerOrLater<T> = T | Promise<T>;

/** The parameters of a training, wherever they are kept. */
export interface LearnedParameters {
  /** In the order in which they were given. */
  readonly parameters: readonly ParameterDefinition[];
  /** Names of the optimizer's slots. */
  readonly slots: readonly string[];
  /** A copy of all weights. */
  copyWeights(): SoonerOrLater<Weights>;
  /** Overwrites the weights that are given; the others stay. */
  setWeights(given: Weights): SoonerOrLater<void>;
  /** Weights and slots of all parameters. The arrays are not to be kept beyond the next step. */
  state(): SoonerOrLater<readonly ParameterState[]>;
  /** Overwrites weights and slots of these parameters. */
  restore(states: readonly ParameterState[]): SoonerOrLater<void>;
}
