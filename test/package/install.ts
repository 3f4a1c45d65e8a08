import { cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const OURS = ['orchard-nlp', 'orchard-nlp-models'];

/**
 * Installs the built package into an application, as a copy of its own beside links to what it depends on.
 * @param application its folder, without `node_modules`.
 * @returns the package's folder.
 */
export async function install(application: string): Promise<string> {
  const modules = join(application, 'node_modules');
  const library = join(modules, 'orchard-nlp');
  await mkdir(library, { recursive: true });
  await cp(join(root, 'dist'), join(library, 'dist'), { recursive: true });
  await cp(join(root, 'package.json'), join(library, 'package.json'));
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (OURS.includes(name) || name.startsWith('.')) continue;
    await symlink(join(root, 'node_modules', name), join(modules, name), 'junction');
  }
  return library;
}
