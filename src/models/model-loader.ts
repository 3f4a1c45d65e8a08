import { readdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AbortedError, NotFoundError, ValidationError } from '../contract/index.js';
import { requirePath } from '../system/index.js';

/** A source of model files. Implementations must pass `modelLoaderContract` from `orchard-nlp/testing`. */
export interface ModelLoader {
  /** The version of this interface. */
  readonly specificationVersion: 1;
  /**
   * Makes a model's files available on the local disk. Concurrent calls for one model are allowed.
   * @param name `owner/name` or `name`; a loader can also accept `@revision` after it.
   * @throws ValidationError for an invalid name, NotFoundError if there is no such model, AbortedError,
   *   ModelDownloadError if its files can't be fetched, StorageError if they can't be written
   */
  load(name: string, options?: LoadOptions): Promise<LoadedModel>;
}

/** Options of {@link ModelLoader.load}. */
export interface LoadOptions {
  /**
   * The files to load, by their paths in the model's folder, such as `onnx/model.onnx`. Files that the model doesn't have
   * are ignored. Default: all files.
   */
  readonly files?: readonly string[];
  /** Stops the download; `load` then rejects with an AbortedError. */
  readonly signal?: AbortSignal | undefined;
  /** Called while files are downloaded; not called if they are already on disk. */
  readonly onProgress?: (progress: ModelProgress) => void;
}

/** A model on the local disk. */
export interface LoadedModel {
  /** The absolute path of a folder with the files. Treat it as read-only: others may use it too. */
  readonly directory: string;
  /** The exact version of the files, such as a commit, if the source keeps several. */
  readonly revision?: string;
}

/** The progress of a download. It never decreases. */
export interface ModelProgress {
  /** The name that was asked for. */
  readonly model: string;
  /** The file being downloaded. */
  readonly file: string;
  /** Bytes received so far, of all files together. */
  readonly receivedBytes: number;
  /** Size of all files together, in bytes. */
  readonly totalBytes: number;
}

interface ModelName {
  readonly path: string;
  readonly revision?: string;
}

/** As the Hugging Face Hub allows: letters and digits of any script, whose pattern takes a millisecond to make. */
const isAllowed = (path: string): boolean => nameOf('\\w').test(path) || nameOf('\\p{L}\\p{N}_').test(path);
const nameOf = (first: string): RegExp => new RegExp(`^[${first}][${first}.-]*(?:/[${first}][${first}.-]*)?$`, 'u');

/** A branch, a tag, a commit, or a pull request's `refs/pr/1`. */
const REVISION = /^\w[\w.-]*(?:\/\w[\w.-]*)*$/;

/** @throws ValidationError for an invalid name, such as one that would leave a folder */
export function parseModelName(name: string): ModelName {
  const at = name.indexOf('@');
  const path = at === -1 ? name : name.slice(0, at);
  if (!isAllowed(path) || path.includes('..')) throw invalid(name, 'give a name, or owner/name');
  if (at === -1) return { path };
  const revision = name.slice(at + 1);
  checkRevision(revision, name);
  return { path, revision };
}

/** @throws ValidationError */
export function checkRevision(revision: string, name: string): void {
  if (REVISION.test(revision) && !revision.includes('..')) return;
  throw invalid(name, `${JSON.stringify(revision)} is not a revision; give a branch, a tag or a commit`);
}

function invalid(name: string, advice: string): ValidationError {
  const msg = `${JSON.stringify(name)} is not a model's name; ${advice}`;
  return new ValidationError([{ loc: ['model'], msg, type: 'model_name' }]);
}

const MAX_NAMED = 10;

/**
 * Loads models from the subfolders of a folder: `name` from `<directory>/name`, `owner/name` from
 * `<directory>/owner/name`. They are used in place and have no revisions.
 */
export function folderModels(directory: string): ModelLoader {
  const root = requirePath(directory, 'directory');
  return {
    specificationVersion: 1,
    load: async (name, { signal } = {}) => {
      const { path, revision } = parseModelName(name);
      if (signal?.aborted) throw new AbortedError(`loading model ${name}`, { cause: signal.reason });
      if (revision !== undefined) {
        const msg = `${root} keeps one version of each model; leave "@${revision}" out`;
        throw new ValidationError([{ loc: ['model'], msg, type: 'model_name' }]);
      }
      const found = resolve(root, path);
      if (await isDirectory(found)) return { directory: found };
      throw new NotFoundError('pretrained model', name, await contentOf(root));
    },
  };
}

async function contentOf(root: string): Promise<string> {
  const entries = await readdir(root, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return `there is no folder ${root}`;
  const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
  return names.length === 0 ? `${root} has no subfolders` : `${root} has ${listed(names, MAX_NAMED)}`;
}

export function listed(names: readonly string[], most: number): string {
  return `${names.slice(0, most).join(', ')}${names.length > most ? ', …' : ''}`;
}

export async function isDirectory(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() ?? false;
}
