import { link, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { ensureDirectory, FileLocks, failedWith, ownedName, readTextIfPresent, replaceFile } from '../system/index.js';

const COMMIT = /^[0-9a-f]{40}$/;

/** After this time without progress, another process takes over a download. */
const SILENT_DOWNLOAD_MS = 120_000;
const MAX_LOCK_PAUSE_MS = 100;

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
export class HubCache {
  readonly locks: FileLocks;
  readonly #root: string;
  readonly #lockDirectory: string;

  constructor(cacheDirectory: string, model: string) {
    const folder = `models--${model.replace('/', '--')}`;
    this.#root = join(cacheDirectory, folder);
    this.#lockDirectory = join(cacheDirectory, '.locks', folder);
    const options = { silenceMs: SILENT_DOWNLOAD_MS, maxPauseMs: MAX_LOCK_PAUSE_MS };
    this.locks = new FileLocks(this.#lockDirectory, this.#lockDirectory, options);
  }

  /** Creates the directories for downloads, and removes what dead processes left in them. */
  async prepare(): Promise<void> {
    await ensureDirectory(join(this.#root, 'blobs'));
    await ensureDirectory(this.#lockDirectory);
    await this.locks.sweep();
  }

  blob(hash: string): string {
    return join(this.#root, 'blobs', hash);
  }

  /** A partial download. Its name differs from those of huggingface_hub, which uses other locks. */
  partialBlob(hash: string): string {
    return join(this.#root, 'blobs', `${hash}.orchard.incomplete`);
  }

  snapshot(commit: string): string {
    return join(this.#root, 'snapshots', commit);
  }

  /** The commit of a revision when it was last loaded; undefined if it was never loaded, or its files are gone. */
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

  /** Adds a blob to the files of a commit. */
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

/** Creates a symbolic link, or a hard link: Windows allows symbolic links only for administrators and developers. */
async function linkTo(blob: string, path: string): Promise<void> {
  const target = relative(dirname(path), blob).split(sep).join('/');
  try {
    await symlink(target, path).catch(() => link(blob, path));
  } catch (thrown) {
    if (!failedWith(thrown, 'EEXIST')) throw thrown; // another process was faster
  }
}
