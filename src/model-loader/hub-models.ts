import { AbortedError, isOrchardError, NotFoundError, StorageError } from '../errors.js';
import { fetchBlob } from './fetch-blob.js';
import { HubCache } from './hub-cache.js';
import { describeRepository, type HubFile } from './hub-repository.js';
import { type HubOptions, type HubSettings, hubSettings } from './hub-settings.js';
import type { LoadedModel, LoadOptions, ModelLoader } from './model-loader.js';
import { checkRevision, parseModelName } from './model-name.js';

/**
 * Models of the Hugging Face Hub: `owner/name`, or `owner/name@revision` for a branch, a tag or a commit.
 * Each file is downloaded once, resumed where a download broke off, checked by size and hash, and kept in the
 * cache that huggingface_hub uses.
 * @throws ValidationError for an option outside its range.
 */
export function hubModels(options: HubOptions = {}): ModelLoader {
  const settings = hubSettings(options);
  checkRevision(settings.revision, settings.revision);
  return new HubModels(settings);
}

class HubModels implements ModelLoader {
  readonly specificationVersion = 1;
  readonly #settings: HubSettings;

  constructor(settings: HubSettings) {
    this.#settings = settings;
  }

  async load(name: string, options: LoadOptions = {}): Promise<LoadedModel> {
    const { path: model, revision = this.#settings.revision } = parseModelName(name);
    try {
      options.signal?.throwIfAborted();
      return this.#settings.offline
        ? await this.#cached(model, revision)
        : await this.#fetched(model, revision, options);
    } catch (thrown) {
      throw asOurs(thrown, name, options.signal);
    }
  }

  async #cached(model: string, revision: string): Promise<LoadedModel> {
    const { cacheDirectory } = this.#settings;
    const cache = new HubCache(cacheDirectory, model);
    const commit = await cache.cachedCommit(revision);
    if (commit !== undefined) return { directory: cache.snapshot(commit), revision: commit };
    const hint = `revision ${revision} is not in the cache ${cacheDirectory}, and the Hub is offline here; load it once with \`offline: false\``;
    throw new NotFoundError('pretrained model', model, hint);
  }

  async #fetched(
    model: string,
    revision: string,
    { files, signal, onProgress }: LoadOptions,
  ): Promise<LoadedModel> {
    const settings = this.#settings;
    const repository = await describeRepository(model, revision, settings, signal);
    const { commit } = repository;
    const wanted = repository.files.filter(({ path }) => files === undefined || files.includes(path));
    const cache = new HubCache(settings.cacheDirectory, model);
    await cache.prepare();
    const report = progressReports(model, wanted, onProgress);
    for (const file of wanted) {
      const url = new URL(`${settings.endpoint}/${model}/resolve/${commit}/${escapedPath(file.path)}`);
      const request = { model, revision, file: file.path, url, signal };
      await fetchBlob({ file, cache, request, settings, onBytes: (bytes) => report(file, bytes) });
    }
    // Only now, so that a snapshot never lacks files that were asked for.
    for (const { path, checksum } of wanted) await cache.addToSnapshot(commit, path, checksum.value);
    await cache.rememberRevision(revision, commit);
    return { directory: cache.snapshot(commit), revision: commit };
  }
}

/**
 * Reports the progress of all files together; bytes that have to be downloaded again are not counted again.
 */
function progressReports(
  model: string,
  files: readonly HubFile[],
  onProgress: LoadOptions['onProgress'],
): (file: HubFile, bytes: number) => void {
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let receivedBytes = 0;
  const ofFile = new Map<HubFile, number>();
  return (file, bytes) => {
    const news = bytes - (ofFile.get(file) ?? 0);
    if (news <= 0) return;
    ofFile.set(file, bytes);
    receivedBytes += news;
    onProgress?.({ model, file: file.path, receivedBytes, totalBytes });
  };
}

const escapedPath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

function asOurs(thrown: unknown, name: string, signal: AbortSignal | undefined): Error {
  if (signal?.aborted) return new AbortedError(`loading model ${name}`, { cause: thrown });
  if (isOrchardError(thrown)) return thrown;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new StorageError(`storing model ${name}: ${reason}`, { cause: thrown });
}
