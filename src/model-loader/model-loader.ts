/**
 * Where a model's files come from. Implementations pass `modelLoaderContract` from `orchard-nlp/testing`.
 */
export interface ModelLoader {
  readonly specificationVersion: 1;
  /**
   * Brings a model's files to the local disk. Safe to call for one model from many places at once.
   * @param name `owner/name` or `name`; a loader may take `@revision` after it.
   * @throws ValidationError for a name that can't be one, NotFoundError where there is no such model, AbortedError;
   *   ModelDownloadError and StorageError where its files can't be fetched or written.
   */
  load(name: string, options?: LoadOptions): Promise<LoadedModel>;
}

export interface LoadOptions {
  /**
   * The files to bring, by their paths in the model's folder, such as `onnx/model.onnx`; those that the model doesn't
   * have are left out. Default: all that it has.
   */
  readonly files?: readonly string[];
  readonly signal?: AbortSignal | undefined;
  /** Called while files are fetched; not at all where they lie on the disk already. */
  readonly onProgress?: (progress: ModelProgress) => void;
}

/** A model on the local disk. */
export interface LoadedModel {
  /** Absolute path of a folder with the files, to be read only: others may read it too. */
  readonly directory: string;
  /** What names exactly these files, such as a commit, where the source keeps several versions. */
  readonly revision?: string;
}

/** How far the files of one model are; never falls. */
export interface ModelProgress {
  readonly model: string;
  /** The one under way. */
  readonly file: string;
  /** Of all files together. */
  readonly receivedBytes: number;
  readonly totalBytes: number;
}
