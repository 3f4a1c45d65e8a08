import { readdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AbortedError, NotFoundError, ValidationError } from '../contract/index.js';
import { type ModelLoader, parseModelName } from './model-loader.js';

/** Maximum number of existing models that a NotFoundError lists. */
const MAX_NAMED = 10;

/**
 * Loads models from the sub-folders of a directory: `name` from `<directory>/name`, `owner/name` from
 * `<directory>/owner/name`. They are used in place. A folder has no revisions.
 */
export function folderModels(directory: string): ModelLoader {
  const root = resolve(directory);
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
  if (entries === undefined) return `there is no directory ${root}`;
  const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
  return names.length === 0 ? `${root} has no sub-folders` : `${root} has ${listed(names, MAX_NAMED)}`;
}

/** The first names, separated by commas. */
export function listed(names: readonly string[], most: number): string {
  return `${names.slice(0, most).join(', ')}${names.length > most ? ', …' : ''}`;
}

export async function isDirectory(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() ?? false;
}
