import type { ExecutionProvider } from '../contract/index.js';
import type { ExplanationChoice, ModelResult } from '../families/index.js';
import type { StageTimes } from './worker.js';
import type { MemoryStats } from './worker-pool.js';

/** The state of an inference service, and counts of its work so far. */
export interface InferenceStats {
  /** Requests that have texts waiting. */
  readonly waitingRequests: number;
  /** Texts that no thread has started. */
  readonly waitingTexts: number;
  /** Texts that threads have started. */
  readonly runningTexts: number;
  /** Requests answered, refused with an OverloadedError, cancelled by abort or deadline, and failed. */
  readonly requests: {
    readonly answered: number;
    readonly refused: number;
    readonly cancelled: number;
    readonly failed: number;
  };
  /** Texts answered. */
  readonly texts: number;
  /** Total time of those texts in milliseconds of the threads; divide by `texts` for the mean. */
  readonly stages: StageTimes;
  /** Memory of models and texts, and the limit. */
  readonly memory: MemoryStats;
  /** The models that were asked for or loaded, including those that were unloaded since. */
  readonly models: readonly ModelStats[];
  /** The worker threads, then the calling thread if it also answers. */
  readonly workers: readonly WorkerStats[];
}

/** A model, loaded or not. */
export interface ModelStats {
  /** Its folder. */
  readonly directory: string;
  /** Number of threads that have loaded it; 0 if it isn't loaded. */
  readonly workers: number;
  /** Its waiting texts. */
  readonly waitingTexts: number;
  /** Texts answered. */
  readonly texts: number;
  /** Milliseconds per text, as a moving average. */
  readonly textMs: number;
  /** Where it computes, in the first thread that loaded it. */
  readonly device: ExecutionProvider;
  /** Why it is not the device that the option `device` names. */
  readonly deviceFailure?: string;
  /** What runs it. Absent while no thread has loaded it. */
  readonly runtime?: 'onnx' | 'wasm';
  /** Why that is not ONNX Runtime, if the option `runtime` is `auto`. */
  readonly runtimeFailure?: string;
}

/** A thread that runs models. */
export interface WorkerStats {
  readonly busy: boolean;
  /** Number of models that it has loaded. */
  readonly models: number;
}

/** The answer to one request. */
export interface Predictions {
  /** One per text, in their order. */
  readonly results: readonly ModelResult[];
  /** Milliseconds from the start of tokenization to the last result, without loading and waiting. */
  readonly elapsedMs: number;
  /** Positions of the texts that are longer than the model reads; only their beginning was read. */
  readonly truncated: readonly number[];
}

/** Options of one request. */
export interface RequestOptions {
  /**
   * When it fires, the request leaves the queue, the rest of its running batches is not computed, and the promise rejects
   * with an AbortedError.
   */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which the request is cancelled with a DeadlineError. Default: none. */
  readonly deadlineMs?: number | undefined;
  /** The account that asks: accounts take turns, by the work done for each. Default: one for all. */
  readonly account?: string | undefined;
  /** Whether results include `none_of_these`, if the model has a threshold for it. Default false. */
  readonly noneOfThese?: boolean | undefined;
  /** Explains the answers. `'doubts'` finds only the words whose tags are not certain. Default: no explanation. */
  readonly explain?: ExplanationChoice | 'doubts' | undefined;
  /** False: the model answers without its rules. A path: a file of rules in place of the folder's. Default: the folder's. */
  readonly rules?: string | false | undefined;
}

/** Runs models from their folders, and keeps them loaded. */
export interface InferenceService {
  /**
   * @param directory a model folder.
   * @returns a result for each text, in their order.
   * @throws ModelFolderError for a folder that can't be run, MemoryLimitError for a model that takes more than the memory
   * limit, OverloadedError while too many texts wait, AbortedError, DeadlineError, ClosedError
   */
  predict(directory: string, texts: readonly string[], options?: RequestOptions): Promise<Predictions>;
  /** Loads a model ahead of its first request. @throws ModelFolderError, MemoryLimitError, ClosedError */
  warm(directory: string): Promise<void>;
  /** Unloads a folder's model, for example before the folder is deleted. */
  forget(directory: string): void;
  /** The current state, and counts of the work so far. */
  stats(): InferenceStats;
  /**
   * Refuses further requests, answers those that are waiting, and frees all resources. Requests that are not answered
   * after 10 s fail with a ClosedError. Idempotent.
   */
  close(): Promise<void>;
}
