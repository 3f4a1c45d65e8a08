/**
 * Where a model's files come from. Implementations pass `modelLoaderContract` from `orchard-nlp/testing`.
 */
export interface ModelLoader {
  /** Of this interface. */
  readonly specificationVersion: 1;
  /**
   * Brings a model's files to the local disk. May be called for one model several times at once.
   * @param name `owner/name` or `name`; a loader may accept `@revision` after it.
   * @throws ValidationError for an invalid name, NotFoundError if there is no such model, AbortedError;
   *   ModelDownloadError and StorageError if its files can't be fetched or written.
   */
  load(name: string, options?: LoadOptions): Promise<LoadedModel>;
}

/** Which files to bring, and whom to tell. */
export interface LoadOptions {
  /**
   * The files to bring, by their paths in the model's folder, such as `onnx/model.onnx`; files that the model
   * doesn't have are ignored. Default: all its files.
   */
  readonly files?: readonly string[];
  /** Stops the download; `load` then rejects with an AbortedError. */
  readonly signal?: AbortSignal | undefined;
  /** Called while files are downloaded; not at all if they are on disk already. */
  readonly onProgress?: (progress: ModelProgress) => void;
}

/** A model on the local disk. */
export interface LoadedModel {
  /** Absolute path of a folder with the files. It is read-only: others may use it, too. */
  readonly directory: string;
  /** The exact version of these files, such as a commit, if the source keeps several. */
  readonly revision?: string;
}

/** Progress of one model's files; never falls. */
export interface ModelProgress {
  /** As it was asked for. */
  readonly model: string;
  /** The file being downloaded. */
  readonly file: string;
  /** Of all files together. */
  readonly receivedBytes: number;
  /** Of all files together. */
  readonly totalBytes: number;
}
