import type { InferenceResult } from '../contract/index.js';

/** The answer to one request. */
export interface Predictions {
  /** One per text, in their order. */
  readonly results: readonly InferenceResult[];
  /** Milliseconds from the start of its tokenisation to its last result, waiting not included. */
  readonly elapsedMs: number;
}

/** Runs models from their folders, and keeps loaded those that it was asked for. */
export interface InferenceService {
  /**
   * @param directory a model folder.
   * @returns a result for each text, in their order.
   * @throws ModelFolderError for a folder that can't be run, ClosedError
   */
  predict(directory: string, texts: readonly string[]): Promise<Predictions>;
  /** Unloads the model of a folder that is about to be deleted. */
  forget(directory: string): void;
  /** Waits for runs in progress and frees everything. Idempotent. */
  close(): Promise<void>;
}
