/** Brings one published model to this machine, each file checked by its size and SHA-256. */
import { copyFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AbortedError, isOrchardError, ModelDownloadError } from '../errors.js';
import { ensureDirectory, FileLocks, flushTree, move } from '../files/index.js';
import { download, NetworkFailure } from '../network/index.js';
import { checksumOf } from './checksum.js';
import type { ModelProgress } from './model-loader.js';
import type { PublishedFile, PublishedModel } from './published-models.js';
import { problemOf, problemsOf } from './verify-files.js';

/** Downloads of a file with wrong bytes before giving up: one may be a broken transfer. */
const MAX_WRONG_FILES = 2;
/** Time without progress after which the pull of another machine on the same folder is taken over. */
const SILENT_PULL_MS = 120_000;
const MAX_LOCK_PAUSE_MS = 100;

/** What one pull needs. */
export interface Pull {
  readonly model: PublishedModel;
  /** URL of the folder that holds `catalogue/` and `backbones/`, with a slash at its end. */
  readonly from: URL;
  /** The folder that the model's folder is put into `catalogue/` or `backbones/` of. */
  readonly root: string;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ModelProgress) => void) | undefined;
}

/**
 * The model's folder is there whole or not at all: files are gathered beside it. What a broken pull has left is gone on
 * with. Of several pulls of a model, in whatever processes, one works and the others wait.
 * @returns the model's folder.
 * @throws ModelDownloadError, StorageError, AbortedError; errors of the disk unchanged.
 */
export async function pull(work: Pull): Promise<string> {
  const { model, root, signal } = work;
  const directory = join(root, model.folder, model.name);
  const lockDirectory = join(root, '.locks');
  await ensureDirectory(lockDirectory);
  const options = { silenceMs: SILENT_PULL_MS, maxPauseMs: MAX_LOCK_PAUSE_MS };
  const locks = new FileLocks(lockDirectory, lockDirectory, options);
  try {
    await locks.hold(`${model.name}.lock`, () => pullUnderLock(work, directory), { signal });
  } catch (thrown) {
    if (signal?.aborted && !isOrchardError(thrown))
      throw new AbortedError(`pulling model ${model.name}`, { cause: thrown });
    throw thrown;
  }
  return directory;
}

async function pullUnderLock(work: Pull, directory: string): Promise<void> {
  const { model, root, signal } = work;
  if ((await problemsOf(model, directory, signal)).length === 0) return;
  const draft = join(root, '.pulling', model.name);
  let before = 0;
  for (const file of model.files) {
    const told = progressOf(work, file, before);
    await fetchFile(work, file, join(draft, ...file.path.split('/')), told);
    before += file.bytes;
    told(file.bytes);
  }
  await flushTree(draft);
  await ensureDirectory(dirname(directory));
  await rm(directory, { recursive: true, force: true }); // one with damaged files
  await move(draft, directory);
}

/** Tells of a file's bytes as part of all files'; never falls, though a download that starts anew does. */
function progressOf({ model, onProgress }: Pull, file: PublishedFile, before: number) {
  let most = 0;
  return (bytes: number): void => {
    most = Math.max(most, Math.min(bytes, file.bytes));
    const receivedBytes = before + most;
    onProgress?.({ model: model.name, file: file.path, receivedBytes, totalBytes: model.bytes });
  };
}

async function fetchFile(
  work: Pull,
  file: PublishedFile,
  target: string,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const { model, from, signal } = work;
  const url = new URL(`${model.folder}/${model.name}/${file.path}`, from);
  await ensureDirectory(dirname(target));
  for (let wrong = 0; (await problemOf(file, target, signal)) !== undefined; wrong += 1) {
    if (wrong === MAX_WRONG_FILES) throw await wrongBytes(work, file, target, url);
    if (wrong > 0) await rm(target, { force: true });
    if (url.protocol === 'file:') await copied(work, file, url, target);
    else await downloaded(work, file, url, target, onBytes);
  }
}

async function copied({ model }: Pull, file: PublishedFile, url: URL, target: string): Promise<void> {
  await copyFile(fileURLToPath(url), target).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const advice = `${reason}; give the folder that holds catalogue/ and backbones/, such as node_modules/orchard-nlp-models`;
    throw new ModelDownloadError(model.name, url.href, advice, { file: file.path, cause });
  });
}

async function downloaded(
  { model, signal }: Pull,
  file: PublishedFile,
  url: URL,
  target: string,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const options = {
    url,
    signal,
    file: target,
    maxBytes: file.bytes,
    expectedBytes: file.bytes,
    keepsPart: true,
    refusesDowngrade: true,
    onProgress: ({ receivedBytes }: { readonly receivedBytes: number }) => onBytes(receivedBytes),
  };
  await download(options).catch((thrown: unknown) => {
    if (!(thrown instanceof NetworkFailure)) throw thrown;
    const { status } = thrown;
    const reason = `${thrown.message}; check that the address holds catalogue/ and backbones/ of orchard-nlp-models ${model.version}, or try again: what has come is kept`;
    const details = { file: file.path, ...(status !== undefined && { status }), cause: thrown };
    throw new ModelDownloadError(model.name, url.href, reason, details);
  });
}

/** The error for a file whose bytes are not the published ones; it is deleted. */
async function wrongBytes(
  { model, signal }: Pull,
  file: PublishedFile,
  target: string,
  url: URL,
): Promise<ModelDownloadError> {
  const found = await checksumOf(target, file.bytes, 'SHA-256', signal);
  await rm(target, { force: true });
  const reason = `the SHA-256 of its bytes is ${found}, not ${file.sha256} as in orchard-nlp-models ${model.version}; they were deleted. Give a place with this version, and check any proxies`;
  return new ModelDownloadError(model.name, url.href, reason, { file: file.path });
}
