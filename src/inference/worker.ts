import type { ExplanationChoice, ModelResult } from '../families/index.js';
import type { DeviceUse } from './device-graph.js';

/** Texts that one thread answers together. */
export interface Batch {
  /** Of this batch, in its worker. */
  readonly id: number;
  /** The model's folder. */
  readonly directory: string;
  readonly texts: readonly string[];
  /** What to explain of each text, by position; undefined for those that are only answered. Absent: of none. */
  readonly explain?: readonly (ExplanationChoice | undefined)[];
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

/** What a worker answers after a slice of a batch's work: most batches have one. */
export interface BatchAnswer {
  /** By position in the batch; undefined for texts that were cancelled, and for all of them while work is left. */
  readonly results: readonly (ModelResult | undefined)[];
  /** Positions of texts of which only the beginning was read. */
  readonly truncated: readonly number[];
  /** Tokens read, windows counted each. */
  readonly tokens: number;
  /** Of this slice. */
  readonly times: StageTimes;
  /** Whether work is left, which `resume` goes on with. */
  readonly isUnfinished: boolean;
  /** Approximate memory of the model, in bytes, where this call has loaded it. */
  readonly loadedBytes?: number | undefined;
  /** Where the model computed. */
  readonly deviceUse?: DeviceUse;
}

/** What loading a model came to. */
export interface Loaded {
  /** Milliseconds; 0 if it was loaded already. */
  readonly ms: number;
  /** Approximate memory that it takes, in bytes. */
  readonly bytes: number;
  /** Where it computes. */
  readonly deviceUse?: DeviceUse;
}

/** A thread that runs models: one slice of a batch after the other, so that no text holds up others for long. */
export interface InferenceWorker {
  /** Begins a batch. */
  run(batch: Batch): Promise<BatchAnswer>;
  /** Goes on with a batch that is unfinished. */
  resume(id: number, alone: boolean): Promise<BatchAnswer>;
  /** What has not been computed of these texts needn't be. Without effect once the batch was answered. */
  cancel(id: number, positions: readonly number[]): void;
  load(directory: string): Promise<Loaded>;
  /** Unloads a folder's model, if it is loaded, once no batch of it is unfinished. */
  forget(directory: string): void;
  /** Fails what the worker was asked, as it doesn't answer. Its thread is left to itself, and replaced when next asked. */
  abandon(reason: string): void;
  /** Frees its memory while it has nothing to do: its thread ends, and starts again when it is next asked. */
  rest(): void;
  /** Called when the thread has ended by itself, and with it what it had loaded and not answered. */
  onLost?: () => void;
  /** Ends the thread once it has answered. Idempotent. */
  close(): Promise<void>;
}
