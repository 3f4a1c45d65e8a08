import type { InferenceResult } from '../contract/index.js';

/** Texts that one thread answers together. */
export interface Batch {
  /** Of this batch, in its lane. */
  readonly id: number;
  /** The model's folder. */
  readonly directory: string;
  readonly texts: readonly string[];
  /** Whether nothing else runs or waits: more threads may then share the run, where that was measured to be faster. */
  readonly alone: boolean;
}

/** Milliseconds of the stages of an answer. */
export interface StageTimes {
  /** Loading the model, the first time. */
  readonly load: number;
  readonly tokenize: number;
  /** The encoder with its head. */
  readonly run: number;
  /** The lexical expert, the blend of both, and the result. */
  readonly decode: number;
}

/** What a lane answers. */
export interface BatchAnswer {
  /** By position in the batch; undefined for texts that were cancelled. */
  readonly results: readonly (InferenceResult | undefined)[];
  /** Positions of texts of which only the beginning was read. */
  readonly truncated: readonly number[];
  /** Tokens read, windows counted each. */
  readonly tokens: number;
  readonly times: StageTimes;
}

/** A thread that runs models, one batch after the other. */
export interface Lane {
  run(batch: Batch): Promise<BatchAnswer>;
  /** What has not been computed of these texts needn't be. Without effect once the batch was answered. */
  cancel(id: number, positions: readonly number[]): void;
  /** Loads a model. @returns milliseconds; 0 if it was loaded already. */
  load(directory: string): Promise<number>;
  /** Unloads a folder's model, if it is loaded. */
  forget(directory: string): void;
  /** Ends the thread once it has answered. Idempotent. */
  close(): Promise<void>;
}
