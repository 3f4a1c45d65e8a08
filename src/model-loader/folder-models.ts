import { readdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AbortedError, NotFoundError, ValidationError } from '../errors.js';
import type { LoadedModel, LoadOptions, ModelLoader } from './model-loader.js';
import { parseModelName } from './model-name.js';

/** Most existing models that a NotFoundError names. */
const MAX_NAMED = 10;

/**
 * Models in the sub-folders of a directory: `name` is `<directory>/name`, `owner/name` is
 * `<directory>/owner/name`. They are used in place; a folder has no revisions.
 */
export function folderModels(directory: string): ModelLoader {
  return new FolderModels(resolve(directory));
}

class FolderModels implements ModelLoader {
  readonly specificationVersion = 1;
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async load(name: string, { signal }: LoadOptions = {}): Promise<LoadedModel> {
    const { path, revision } = parseModelName(name);
    if (signal?.aborted) throw new AbortedError(`loading model ${name}`, { cause: signal.reason });
    if (revision !== undefined) {
      const msg = `${this.#root} keeps one version of each model; leave "@${revision}" out`;
      throw new ValidationError([{ loc: ['model'], msg, type: 'model_name' }]);
    }
    const directory = resolve(this.#root, path);
    if (await isDirectory(directory)) return { directory };
    throw new NotFoundError('pretrained model', name, await this.#advice());
  }

  async #advice(): Promise<string> {
    const entries = await readdir(this.#root, { withFileTypes: true }).catch(() => undefined);
    if (entries === undefined) return `there is no directory ${this.#root}`;
    const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
    const named = names.slice(0, MAX_NAMED).join(', ');
    return names.length === 0
      ? `${this.#root} has no sub-folders`
      : `${this.#root} has ${named}${names.length > MAX_NAMED ? ', …' : ''}`;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() ?? false;
}
