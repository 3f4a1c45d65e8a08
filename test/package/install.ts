import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const projects = join(root, 'examples', 'projects');
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

/**
 * Installs what the package.json of a project of examples/ asks for, in a copy of the project.
 * @param parent a folder that gets the copy.
 * @returns the copy's folder.
 */
export async function installProject(name: string, parent: string): Promise<string> {
  const folder = join(parent, name);
  await cp(join(projects, name), folder, { recursive: true });
  await install(folder);
  await symlink(join(root, 'models'), join(folder, 'node_modules', 'orchard-nlp-models'), 'junction');
  return folder;
}

/** Runs scripts of an installed project, one after another. Not for Windows. */
export async function runScripts(project: string, names: readonly string[]): Promise<void> {
  const commands = join(project, 'node_modules', '.bin');
  await mkdir(commands, { recursive: true });
  await symlink(join(project, 'node_modules', 'orchard-nlp', 'dist', 'orchard.js'), join(commands, 'orchard'));
  const PATH = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
  // Vitest sets NODE_ENV, and Vite would build for tests.
  const env = { ...process.env, PATH, NODE_ENV: undefined };
  for (const name of names) await promisify(execFile)('npm', ['run', '--silent', name], { cwd: project, env });
}
