import type { UsedRuntime } from '../contract/index.js';
import type { AnswerDetail, ModelResult } from '../families/index.js';
import type { DeviceUse } from '../graph/index.js';

/** Texts that one worker answers together. */
export interface Batch {
  /** Unique in its worker. */
  readonly id: number;
  readonly directory: string;
  /** What the folder was when another worker loaded it; absent as long as none has. */
  readonly version?: string | undefined;
  readonly texts: readonly string[];
  /** As of a request, for each text by position. Default: no explanation. */
  readonly explain?: readonly (AnswerDetail | undefined)[];
  /** As of a request, for each text by position. Default: the folder's rules. */
  readonly rules?: readonly (string | false | undefined)[];
  /** Whether nothing else runs or waits: the run may then use more threads, if that was measured to be faster. */
  readonly alone: boolean;
}

/** What computes a model's encoder. */
export interface RuntimeUse {
  readonly runtime: UsedRuntime;
  /** Why it is not ONNX Runtime, which was to be used if possible. */
  readonly failure?: string;
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

/** A worker's answer after a slice of a batch; most batches have one slice. */
export interface BatchAnswer {
  /** By position in the batch; undefined for cancelled texts, and for all texts while work is left. */
  readonly results: readonly (ModelResult | undefined)[];
  readonly truncated: readonly number[];
  readonly times: StageTimes;
  /** Whether work is left for `resume`. */
  readonly isUnfinished: boolean;
  /** Approximate memory of the model in bytes, if this call loaded it. */
  readonly loadedBytes?: number | undefined;
  /** Of the model's folder, if this call loaded it. */
  readonly version?: string | undefined;
  /** Default: the CPU. */
  readonly deviceUse?: DeviceUse;
  /** Set if this call loaded it. */
  readonly runtimeUse?: RuntimeUse;
}

export interface Loaded {
  /** Milliseconds; 0 if it was loaded already. */
  readonly ms: number;
  readonly bytes: number;
  readonly version?: string | undefined;
  readonly deviceUse?: DeviceUse;
  readonly runtimeUse?: RuntimeUse;
}

/** A thread or process that runs models, one slice of a batch at a time, so that no text delays others for long. */
export interface InferenceWorker {
  run(batch: Batch): Promise<BatchAnswer>;
  resume(id: number, alone: boolean): Promise<BatchAnswer>;
  /** Skips what is not computed yet of these texts. Without effect once the batch was answered. */
  cancel(id: number, positions: readonly number[]): void;
  /** @param version rejects with a ModelFolderError if the folder is another one now. */
  load(directory: string, version?: string): Promise<Loaded>;
  /** Unloads a folder's model once no batch of it is unfinished. */
  forget(directory: string): void;
  /** Fails the open requests of a worker that hangs. The next request starts a new one. */
  abandon(reason: string): void;
  /** Frees the memory of an idle worker: its thread or process ends, and the next request starts a new one. */
  rest(): void;
  /** Called when the thread or process has ended unexpectedly; its models and open requests are lost. */
  onLost?: () => void;
  /** Ends the thread or process after its open requests. Idempotent. */
  close(): Promise<void>;
}
