import type { ExecutionProvider } from '../contract/index.js';
import type { ExplanationChoice, ModelResult } from '../families/index.js';
import type { MemoryStats } from './model-memory.js';
import type { StageTimes } from './worker.js';

/** The state of an inference service, and what it has done so far. */
export interface InferenceStats {
  /** Requests that have texts waiting. */
  readonly waitingRequests: number;
  /** Texts that no thread has been given yet. */
  readonly waitingTexts: number;
  /** Texts that threads have begun with. */
  readonly runningTexts: number;
  /** Requests answered, refused with an OverloadedError, given up by their callers, and failed. */
  readonly requests: {
    readonly answered: number;
    readonly refused: number;
    readonly cancelled: number;
    readonly failed: number;
  };
  /** Texts answered. */
  readonly texts: number;
  /** What those texts took in all, in milliseconds of the threads; divide by `texts` for the mean. */
  readonly stages: StageTimes;
  /** What models and texts take of the memory limit. */
  readonly memory: MemoryStats;
  /** The models that are loaded in some thread. */
  readonly models: readonly ModelStats[];
  /** The worker threads; of a service that runs inline, the calling thread. */
  readonly workers: readonly WorkerStats[];
}

/** A loaded model. */
export interface ModelStats {
  /** Its folder. */
  readonly directory: string;
  /** How many threads have loaded it. */
  readonly workers: number;
  /** Texts of its that wait. */
  readonly waitingTexts: number;
  /** Texts answered. */
  readonly texts: number;
  /** Milliseconds a text, lately. */
  readonly textMs: number;
  /** Where it computes, in the first thread that has loaded it. */
  readonly device: ExecutionProvider;
  /** Why it is not where the option `device` asks for. */
  readonly deviceFailure?: string;
}

/** A thread that runs models. */
export interface WorkerStats {
  readonly busy: boolean;
  /** Models that it has loaded. */
  readonly models: number;
}

/** The answer to one request. */
export interface Predictions {
  /** One per text, in their order. */
  readonly results: readonly ModelResult[];
  /** Milliseconds from the start of its tokenisation to its last result, loading and waiting not included. */
  readonly elapsedMs: number;
  /** Positions of the texts of which only the beginning was read, since they are longer than the model reads. */
  readonly truncated: readonly number[];
}

/** Of one request. */
export interface RequestOptions {
  /**
   * When it fires, the request leaves the queue, and what is left of it in a run under way is not computed; the promise
   * rejects with an AbortedError.
   */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which the request is given up likewise, with a DeadlineError. Default: none. */
  readonly deadlineMs?: number | undefined;
  /** On whose behalf it is asked: accounts take turns, by the work that was done for each. Default: one for all. */
  readonly account?: string | undefined;
  /** Whether results tell `none_of_these`, where the model has a threshold for it. Default false. */
  readonly noneOfThese?: boolean | undefined;
  /** Has the answers explained, as the choice says. Default: they are not. */
  readonly explain?: ExplanationChoice | undefined;
}

/** Runs models from their folders, and keeps loaded those that it was asked for. */
export interface InferenceService {
  /**
   * @param directory a model folder.
   * @returns a result for each text, in their order.
   * @throws ModelFolderError for a folder that can't be run, MemoryLimitError for a model that takes more than the memory
   * limit, OverloadedError while too many texts wait, AbortedError, DeadlineError, ClosedError
   */
  predict(directory: string, texts: readonly string[], options?: RequestOptions): Promise<Predictions>;
  /** Loads a model that is about to be asked. @throws ModelFolderError, MemoryLimitError, ClosedError */
  warm(directory: string): Promise<void>;
  /** Unloads the model of a folder that is about to be deleted. */
  forget(directory: string): void;
  /** What waits, what runs, and what was done so far. */
  stats(): InferenceStats;
  /**
   * Refuses further requests, answers those that wait, and frees everything. What has not been answered after 10 s fails
   * with a ClosedError. Idempotent.
   */
  close(): Promise<void>;
}
