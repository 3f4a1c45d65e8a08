import { link, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import * as z from 'zod';
import {
  AbortedError,
  isOrchardError,
  ModelDownloadError,
  messageOf,
  NotFoundError,
  requireOptions,
  StorageError,
  ValidationError,
  validate,
} from '../contract/index.js';
import {
  type DownloadProgress,
  download,
  ensureDirectory,
  type Fetch,
  type FileLocks,
  failedWith,
  fetchText,
  fromHome,
  move,
  NetworkFailure,
  ownedName,
  type RequestOptions,
  type RetryOptions,
  readTextIfPresent,
  replaceFile,
  requirePath,
} from '../system/index.js';
import { type Checksum, downloadLocks, fetchChecked } from './checked-download.js';
import { CONFIG_FILE, SHARDS_FILE, WEIGHTS_FILE } from './folder-files.js';
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
  /** The URL of the Hub. Default: HF_ENDPOINT, otherwise https://huggingface.co. */
  readonly endpoint?: string;
  /** The branch, tag or commit for names without `@revision`. Default `main`. */
  readonly revision?: string;
  /** Milliseconds without data after which a request is repeated. Default 30,000. */
  readonly stallTimeoutMs?: number;
  /**
   * Maximum number of repetitions of a request after transient errors. The count restarts when data is received.
   * Default 4.
   */
  readonly retries?: number;
  /** Milliseconds before the first repetition; doubled for each further one. Default 500. */
  readonly retryPauseMs?: number;
  /** Sends the requests, for example through a proxy. Must not follow redirects. Default: Node's fetch. */
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
  return { specificationVersion: 1, load: (name, loadOptions = {}) => load(settings, name, loadOptions) };
}

/** Of a checkpoint of transformers, without weights that only other libraries read. @throws as {@link hubModels} does */
export function neededFromHub(name: string, options: Omit<LoadOptions, 'files'>): Promise<LoadedModel> {
  return load(hubSettings({}), name, { ...options, files: 'needed' });
}

interface HubLoadOptions extends Omit<LoadOptions, 'files'> {
  readonly files?: LoadOptions['files'] | 'needed';
}

async function load(settings: HubSettings, name: string, options: HubLoadOptions): Promise<LoadedModel> {
  const { path: model, revision = settings.revision } = parseModelName(name);
  try {
    options.signal?.throwIfAborted();
    return settings.offline
      ? await cachedModel(settings, model, revision)
      : await downloadedModel(settings, model, revision, options);
  } catch (thrown) {
    throw publicError(thrown, name, options.signal);
  }
}

async function cachedModel({ cacheDirectory }: HubSettings, model: string, revision: string): Promise<LoadedModel> {
  const cache = new HubCache(cacheDirectory, model);
  const commit = await cache.cachedCommit(revision);
  if (commit !== undefined) return { directory: cache.snapshot(commit), revision: commit };
  const hint = `revision ${revision} is not in the cache ${cacheDirectory}, and downloads are switched off; load it once with HF_HUB_OFFLINE=0 (or \`offline: false\`)`;
  throw new NotFoundError('pretrained model', model, hint);
}

async function downloadedModel(
  settings: HubSettings,
  model: string,
  revision: string,
  { files, signal, onProgress }: HubLoadOptions,
): Promise<LoadedModel> {
  const repository = await describeRepository(model, revision, settings, signal);
  const { commit } = repository;
  const cache = new HubCache(settings.cacheDirectory, model);
  await cache.prepare();
  const fetched = (file: HubFile, onBytes: (bytes: number) => void) => {
    const path = file.path.split('/').map(encodeURIComponent).join('/');
    const url = new URL(`${settings.endpoint}/${model}/resolve/${commit}/${path}`);
    const request = { model, revision, file: file.path, url, signal };
    return fetchBlob({ file, cache, request, settings, onBytes });
  };
  const isNeeded = files === 'needed' ? await neededFiles(repository, cache, fetched) : () => true;
  const isWanted = (path: string) => (Array.isArray(files) ? files.includes(path) : isNeeded(path));
  const wanted = repository.files.filter(({ path }) => isWanted(path));
  const report = progressReports(model, wanted, onProgress);
  for (const file of wanted) await fetched(file, (bytes) => report(file, bytes));
  // Only now, so that a snapshot is never incomplete.
  for (const { path, checksum } of wanted) await cache.addToSnapshot(commit, path, checksum.value);
  await cache.rememberRevision(revision, commit);
  return { directory: cache.snapshot(commit), revision: commit };
}

/** Weights in formats that are read by other libraries alone. */
const OTHER_WEIGHTS =
  /^(?:pytorch_model.*\.bin(?:\.index\.json)?|.*\.(?:h5|msgpack|ot|gguf|pt|pth|ckpt|mlmodel)|(?:openvino|coreml)\/.*)$/u;
const GRAPHS = /^onnx\//u;

/**
 * All files but weights that aren't read: a popular checkpoint has them in ten formats, and one without others is refused
 * for what it lacks. ONNX graphs are read if there are no safetensors, and those of Orchard's models, which config.json
 * tells, always.
 */
async function neededFiles(
  { files }: HubRepository,
  cache: HubCache,
  fetched: (file: HubFile, onBytes: () => void) => Promise<void>,
): Promise<(path: string) => boolean> {
  const config = files.find(({ path }) => path === CONFIG_FILE);
  const names = files.map(({ path }) => path);
  const isCheckpoint = names.some((path) => path === WEIGHTS_FILE || path === SHARDS_FILE);
  const isOther = (path: string) => OTHER_WEIGHTS.test(path) || (isCheckpoint && GRAPHS.test(path));
  if (config === undefined || !names.some(isOther)) return () => true;
  await fetched(config, () => undefined);
  const json = parsedJson((await readTextIfPresent(cache.blob(config.checksum.value))) ?? '');
  const isOwn = typeof json === 'object' && json !== null && 'orchard' in json;
  return (path) => isOwn || !isOther(path);
}

/** Bytes that are downloaded again are not counted again. */
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
  const reason = messageOf(thrown);
  return new StorageError(`storing model ${name}: ${reason}`, { cause: thrown });
}

const DEFAULT_ENDPOINT = 'https://huggingface.co';

const settingsSchema = z.lazy(() =>
  z.object({
    cacheDirectory: z.string().min(1),
    token: z
      .string()
      .regex(/^[\x21-\x7E]+$/, 'a token has no spaces or line breaks; check HF_TOKEN, or what you pass')
      .optional(),
    offline: z.boolean(),
    endpoint: z.url({ protocol: /^https?$/ }),
    revision: z.string().default('main'),
    stallTimeoutMs: z.number().positive().default(30_000),
    retries: z.int().min(0).default(4),
    retryPauseMs: z.number().min(0).default(500),
  }),
);

/** The endpoint does not end with a slash. */
interface HubSettings extends Readonly<z.infer<typeof settingsSchema>> {
  readonly fetch: Fetch;
}

/** @throws ValidationError */
export function hubSettings(options: HubOptions, environment: NodeJS.ProcessEnv = process.env): HubSettings {
  const variable = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const { cacheDirectory, endpoint, ...others } = validate(settingsSchema, {
    cacheDirectory: options.cacheDirectory ?? hubCache(variable),
    token: variable('HF_TOKEN'),
    offline: isSwitchedOn(variable('HF_HUB_OFFLINE')),
    endpoint: variable('HF_ENDPOINT') ?? DEFAULT_ENDPOINT,
    ...requireOptions(options, '`hubModels({ token })`'),
  });
  return {
    ...others,
    cacheDirectory: requirePath(cacheDirectory, 'cacheDirectory'),
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

/** @throws ValidationError for a folder of the home of a user without one */
function hubCache(variable: (name: string) => string | undefined): string {
  try {
    return defaultCache(variable);
  } catch {
    const msg = 'there is no home folder to keep models in; give a folder, or set HF_HOME';
    throw new ValidationError([{ loc: ['cacheDirectory'], msg, type: 'missing' }]);
  }
}

function isSwitchedOn(value = ''): boolean {
  return ['1', 'true', 'yes', 'on'].includes(value.toLowerCase());
}

/** About 300,000 files. */
const MAX_LIST_BYTES = 64 * 1024 ** 2;

interface HubRepository {
  readonly commit: string;
  readonly files: readonly HubFile[];
}

interface HubFile {
  /** The path in the repository, with '/'. */
  readonly path: string;
  readonly bytes: number;
  readonly checksum: Checksum;
}

const sha1Schema = z.string().regex(/^[0-9a-f]{40}$/);
/** They become local files, so none may leave the snapshot. */
const pathSchema = z
  .string()
  .refine((path) => path.split('/').every((part) => !['', '.', '..'].includes(part) && !/[\\:\0]/.test(part)));

/** `/api/models/{model}/revision/{revision}?blobs=true`. */
const answerSchema = z.lazy(() =>
  z.object({
    sha: sha1Schema,
    siblings: z.array(
      z.object({
        rfilename: pathSchema,
        size: z.int().nonnegative(),
        /** SHA-1 of the file, or of its pointer if it is in LFS. */
        blobId: sha1Schema,
        lfs: z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/), size: z.int().nonnegative() }).nullish(),
      }),
    ),
  }),
);

/** @throws NotFoundError, ModelDownloadError, and the signal's reason */
async function describeRepository(
  model: string,
  revision: string,
  settings: HubSettings,
  signal: AbortSignal | undefined,
): Promise<HubRepository> {
  const path = `api/models/${model}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const url = new URL(`${settings.endpoint}/${path}`);
  const request = { model, revision, url, signal };
  const options = { ...requestOptions(request, settings), maxBytes: MAX_LIST_BYTES };
  const text = await fetchText(options).catch((thrown) => {
    throw hubError(thrown, request, settings);
  });
  const answer = answerSchema.safeParse(parsedJson(text));
  if (!answer.success) {
    const [issue] = answer.error.issues;
    const reason = `this is not a response from the Hugging Face Hub (${issue?.path.join('.')}: ${issue?.message}); check the endpoint`;
    throw new ModelDownloadError(model, url.href, reason);
  }
  const { sha: commit, siblings } = answer.data;
  return {
    commit,
    files: siblings.map(({ rfilename, size, blobId, lfs }) => ({
      path: rfilename,
      bytes: lfs?.size ?? size,
      checksum: lfs ? { algorithm: 'SHA-256', value: lfs.sha256 } : { algorithm: 'git SHA-1', value: blobId },
    })),
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface BlobDownload {
  readonly file: HubFile;
  readonly cache: HubCache;
  readonly request: HubRequest & { readonly file: string };
  readonly settings: HubSettings;
  /** Called with the bytes that are on disk. */
  readonly onBytes: (bytes: number) => void;
}

/** Resumes a partial file; concurrent callers wait. @throws ModelDownloadError, StorageError */
async function fetchBlob(blob: BlobDownload): Promise<void> {
  const { file, cache, request, onBytes } = blob;
  const hash = file.checksum.value;
  const isThere = () => isWhole(cache.blob(hash), file.bytes);
  if (!(await isThere())) {
    const lock = `${hash}.orchard.lock`;
    const fetchUnlessThere = async () => {
      if (!(await isThere())) await fetchUnderLock(blob);
    };
    const signOfLife = async () => String(await bytesOf(cache.partialBlob(hash)));
    await cache.locks.hold(lock, fetchUnlessThere, { signal: request.signal, signOfLife });
  }
  onBytes(file.bytes);
}

async function isWhole(path: string, bytes: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.size === bytes;
}

async function fetchUnderLock({ file, cache, request, settings, onBytes }: BlobDownload): Promise<void> {
  const { bytes, checksum } = file;
  const path = cache.partialBlob(checksum.value);
  const options = {
    ...requestOptions(request, settings),
    ...{ file: path, maxBytes: bytes, expectedBytes: bytes, keepsPart: true },
    onProgress: ({ receivedBytes }: DownloadProgress) => onBytes(receivedBytes),
  };
  const fetch = () =>
    download(options).catch((thrown: unknown) => {
      throw hubError(thrown, request, settings);
    });
  const wrong = await fetchChecked({ path, bytes, checksum }, fetch, request.signal);
  if (wrong !== undefined) {
    const reason = `the ${checksum.algorithm} of its bytes is ${wrong}, not ${checksum.value} as the Hub says; they were deleted. Check the endpoint and any proxies`;
    throw new ModelDownloadError(request.model, request.url.href, reason, { file: file.path });
  }
  await move(path, cache.blob(checksum.value));
}

async function bytesOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

interface HubRequest {
  readonly model: string;
  readonly revision: string;
  /** Absent for the list of a model's files. */
  readonly file?: string;
  readonly url: URL;
  readonly signal?: AbortSignal | undefined;
}

/** The token is never sent to another host, nor to the same host unencrypted. */
function requestOptions(
  { url, signal }: HubRequest,
  { token, fetch, stallTimeoutMs, retries, retryPauseMs }: HubSettings,
): RequestOptions & RetryOptions {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return { url, signal, headers, fetch, stallTimeoutMs, retries, retryPauseMs, refusesDowngrade: true };
}

/** Anything but a NetworkFailure is returned unchanged. */
function hubError(thrown: unknown, request: HubRequest, settings: HubSettings): unknown {
  if (!(thrown instanceof NetworkFailure)) return thrown;
  const { model, revision, file, url } = request;
  const { status } = thrown;
  if (status === 404 && file === undefined) {
    const what = revision === 'main' ? 'no such model' : `no such model, or no revision ${revision} of it`;
    return new NotFoundError('pretrained model', model, `${settings.endpoint} has ${what}`);
  }
  return new ModelDownloadError(model, url.href, reasonOf(thrown, request, settings), {
    ...(file !== undefined && { file }),
    ...(status !== undefined && { status }),
    cause: thrown,
  });
}

function reasonOf(failure: NetworkFailure, { model }: HubRequest, { token, endpoint }: HubSettings): string {
  if (failure.isTooLarge) {
    return 'the server sends more bytes than the Hub lists; check the endpoint and any proxies';
  }
  switch (failure.status) {
    case undefined:
      return `${failure.message}; try again, or use what is in the cache with HF_HUB_OFFLINE=1 (or \`offline: true\`)`;
    case 401:
      return token === undefined
        ? 'the server requires a token (401), which happens for private, gated and missing models; check the name, or set HF_TOKEN (or `token` of hubModels)'
        : 'the server rejects the token (401); create a new one and set HF_TOKEN';
    case 403:
      return `the token has no access (403); request access at ${endpoint}/${model}`;
    case 404:
      return 'the server lists this file but does not have it (404)';
    case 429:
      return 'the server received too many requests (429); try again later, or set HF_TOKEN';
    default:
      return failure.message;
  }
}

const COMMIT = /^[0-9a-f]{40}$/;

/**
 * A model in the cache of huggingface_hub:
 * ```
 * models--owner--name/blobs/<hash>                a file by its content
 *                     snapshots/<commit>/<path>   links to blobs
 *                     refs/<revision>             the commit that a branch or tag was at
 * .locks/models--owner--name/                     locks of the downloads in progress
 * ```
 * Layout: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
 */
class HubCache {
  readonly locks: FileLocks;
  readonly #root: string;
  readonly #lockDirectory: string;

  constructor(cacheDirectory: string, model: string) {
    const folder = `models--${model.replace('/', '--')}`;
    this.#root = join(cacheDirectory, folder);
    this.#lockDirectory = join(cacheDirectory, '.locks', folder);
    this.locks = downloadLocks(this.#lockDirectory);
  }

  /** Removes what dead processes left, too. */
  async prepare(): Promise<void> {
    await ensureDirectory(join(this.#root, 'blobs'));
    await ensureDirectory(this.#lockDirectory);
    await this.locks.sweep();
  }

  blob(hash: string): string {
    return join(this.#root, 'blobs', hash);
  }

  /** Its name differs from those of huggingface_hub, which uses other locks. */
  partialBlob(hash: string): string {
    return join(this.#root, 'blobs', `${hash}.orchard.incomplete`);
  }

  snapshot(commit: string): string {
    return join(this.#root, 'snapshots', commit);
  }

  /** Undefined if it was never loaded, or its files are gone. */
  async cachedCommit(revision: string): Promise<string | undefined> {
    const commit = COMMIT.test(revision) ? revision : await readTextIfPresent(this.#ref(revision));
    const trimmed = commit?.trim() ?? '';
    if (!COMMIT.test(trimmed)) return undefined;
    const found = await stat(this.snapshot(trimmed)).catch(() => undefined);
    return found?.isDirectory() ? trimmed : undefined;
  }

  async rememberRevision(revision: string, commit: string): Promise<void> {
    if (revision === commit) return;
    const path = this.#ref(revision);
    if ((await readTextIfPresent(path)) === commit) return;
    // In another folder, since huggingface_hub would take the draft for a revision.
    await replaceFile(path, commit, { draft: join(this.#lockDirectory, ownedName()) });
  }

  async addToSnapshot(commit: string, file: string, hash: string): Promise<void> {
    const path = join(this.snapshot(commit), ...file.split('/'));
    await ensureDirectory(dirname(path));
    const there = await stat(path).catch(() => undefined);
    if (there !== undefined) return;
    await rm(path, { force: true }); // a link whose blob was deleted
    await linkTo(this.blob(hash), path);
  }

  #ref(revision: string): string {
    return join(this.#root, 'refs', ...revision.split('/'));
  }
}

/** A hard link where symbolic links fail: on Windows, they need privileges. */
async function linkTo(blob: string, path: string): Promise<void> {
  const target = relative(dirname(path), blob).split(sep).join('/');
  try {
    await symlink(target, path).catch(() => link(blob, path));
  } catch (thrown) {
    if (!failedWith(thrown, 'EEXIST')) throw thrown; // another process was faster
  }
}
