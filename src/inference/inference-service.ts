import type { InferenceResult } from '../contract/index.js';

/** What one request came to. */
export interface Predictions {
  /** One per text, in their order. */
  readonly results: readonly InferenceResult[];
  /** Milliseconds from the start of its tokenising to its last result, waiting not included. */
  readonly elapsedMs: number;
}

/** Runs models that lie in folders, and keeps those loaded that it was asked for. */
export interface InferenceService {
  /**
   * @param directory a model folder. @returns a result for each text, in their order.
   * @throws ModelFolderError for a folder that can't be run, ClosedError
   */
  predict(directory: string, texts: readonly string[]): Promise<Predictions>;
  /** Gives up what is kept of a folder's model, which is about to be deleted. */
  forget(directory: string): void;
  /** Waits for what runs and frees everything. Idempotent. */
  close(): Promise<void>;
}
