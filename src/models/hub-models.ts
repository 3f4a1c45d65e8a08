import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { AbortedError, isOrchardError, NotFoundError, StorageError, validate } from '../contract/index.js';
import type { Fetch } from '../system/index.js';
import { HubCache } from './hub-cache.js';
import { describeRepository, fetchBlob, type HubFile } from './hub-download.js';
import { checkRevision, type LoadedModel, type LoadOptions, type ModelLoader, parseModelName } from './model-loader.js';

/** Options of {@link hubModels}. Their defaults follow the environment variables and defaults of huggingface_hub. */
export interface HubOptions {
  /**
   * Where files are kept, in the layout of huggingface_hub, which can share the directory. Default: the first of
   * HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub and ~/.cache/huggingface/hub that is set. Its file system
   * must support hard links, as all but FAT do.
   */
  readonly cacheDirectory?: string;
  /** Access token for private and gated models; sent only to the endpoint's host. Default: HF_TOKEN. */
  readonly token?: string;
  /** Whether to use only the cache. Default: HF_HUB_OFFLINE. */
  readonly offline?: boolean;
  /** Default: HF_ENDPOINT, else https://huggingface.co. */
  readonly endpoint?: string;
  /** The branch, tag or commit for names without `@revision`. Default `main`. */
  readonly revision?: string;
  /** Milliseconds without data after which a request is repeated. Default 30,000. */
  readonly stallTimeoutMs?: number;
  /** How often a request is repeated after a transient error, counted from the last received byte. Default 4. */
  readonly retries?: number;
  /** Milliseconds before the first repetition; doubled for each further one. Default 500. */
  readonly retryPauseMs?: number;
  /** Sends the requests, for instance through a proxy. Must not follow redirects. Default: Node's fetch. */
  readonly fetch?: Fetch;
}

/**
 * Loads models from the Hugging Face Hub: `owner/name`, or `owner/name@revision` for a branch, tag or commit. Each file is
 * downloaded once, with resumed transfers, checked by size and hash, and kept in the cache of huggingface_hub.
 * @throws ValidationError for an option outside its range
 */
export function hubModels(options: HubOptions = {}): ModelLoader {
  const settings = hubSettings(options);
  checkRevision(settings.revision, settings.revision);
  return {
    specificationVersion: 1,
    load: async (name, loadOptions = {}) => {
      const { path: model, revision = settings.revision } = parseModelName(name);
      try {
        loadOptions.signal?.throwIfAborted();
        return settings.offline
          ? await cachedModel(settings, model, revision)
          : await downloadedModel(settings, model, revision, loadOptions);
      } catch (thrown) {
        throw publicError(thrown, name, loadOptions.signal);
      }
    },
  };
}

async function cachedModel({ cacheDirectory }: HubSettings, model: string, revision: string): Promise<LoadedModel> {
  const cache = new HubCache(cacheDirectory, model);
  const commit = await cache.cachedCommit(revision);
  if (commit !== undefined) return { directory: cache.snapshot(commit), revision: commit };
  const hint = `revision ${revision} is not in the cache ${cacheDirectory}, and downloads are switched off; load it once with \`offline: false\``;
  throw new NotFoundError('pretrained model', model, hint);
}

async function downloadedModel(
  settings: HubSettings,
  model: string,
  revision: string,
  { files, signal, onProgress }: LoadOptions,
): Promise<LoadedModel> {
  const repository = await describeRepository(model, revision, settings, signal);
  const { commit } = repository;
  const wanted = repository.files.filter(({ path }) => files === undefined || files.includes(path));
  const cache = new HubCache(settings.cacheDirectory, model);
  await cache.prepare();
  const report = progressReports(model, wanted, onProgress);
  for (const file of wanted) {
    const path = file.path.split('/').map(encodeURIComponent).join('/');
    const url = new URL(`${settings.endpoint}/${model}/resolve/${commit}/${path}`);
    const request = { model, revision, file: file.path, url, signal };
    await fetchBlob({ file, cache, request, settings, onBytes: (bytes) => report(file, bytes) });
  }
  // Only now, so that a snapshot is never incomplete.
  for (const { path, checksum } of wanted) await cache.addToSnapshot(commit, path, checksum.value);
  await cache.rememberRevision(revision, commit);
  return { directory: cache.snapshot(commit), revision: commit };
}

/** Reports the progress of all files. Bytes that are downloaded again are not counted again. */
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

function publicError(thrown: unknown, name: string, signal: AbortSignal | undefined): Error {
  if (signal?.aborted) return new AbortedError(`loading model ${name}`, { cause: thrown });
  if (isOrchardError(thrown)) return thrown;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new StorageError(`storing model ${name}: ${reason}`, { cause: thrown });
}

const DEFAULT_ENDPOINT = 'https://huggingface.co';

const settingsSchema = z.object({
  cacheDirectory: z.string().min(1),
  token: z.string().min(1).optional(),
  offline: z.boolean(),
  endpoint: z.url({ protocol: /^https?$/ }),
  revision: z.string().default('main'),
  stallTimeoutMs: z.number().positive().default(30_000),
  retries: z.int().min(0).default(4),
  retryPauseMs: z.number().min(0).default(500),
});

/** The settings from {@link HubOptions} and the environment. The endpoint does not end with a slash. */
export interface HubSettings extends Readonly<z.infer<typeof settingsSchema>> {
  readonly fetch: Fetch;
}

/** @throws ValidationError */
export function hubSettings(options: HubOptions, environment: NodeJS.ProcessEnv = process.env): HubSettings {
  const variable = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const { cacheDirectory, endpoint, ...others } = validate(settingsSchema, {
    cacheDirectory: defaultCache(variable),
    token: variable('HF_TOKEN'),
    offline: isSwitchedOn(variable('HF_HUB_OFFLINE')),
    endpoint: variable('HF_ENDPOINT') ?? DEFAULT_ENDPOINT,
    ...options,
  });
  return {
    ...others,
    cacheDirectory: resolve(cacheDirectory),
    endpoint: endpoint.replace(/\/+$/, ''),
    fetch: options.fetch ?? fetch,
  };
}

function defaultCache(variable: (name: string) => string | undefined): string {
  const cache = variable('HF_HUB_CACHE');
  if (cache !== undefined) return fromHome(cache);
  const home = variable('HF_HOME') ?? join(variable('XDG_CACHE_HOME') ?? '~/.cache', 'huggingface');
  return fromHome(join(home, 'hub'));
}

function fromHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}

function isSwitchedOn(value = ''): boolean {
  return ['1', 'true', 'yes', 'on'].includes(value.toLowerCase());
}
