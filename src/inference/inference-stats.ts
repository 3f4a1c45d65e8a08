import type { ExecutionProvider } from '../contract/index.js';
import type { StageTimes } from './lane.js';
import type { MemoryStats } from './model-memory.js';

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
