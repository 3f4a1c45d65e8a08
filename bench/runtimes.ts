import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Other runtimes that our programs also run in. Without a global installation they come from npm, at these versions. */

export interface Runtime {
  /** With its version, as in `Bun 1.4.5`. */
  readonly name: string;
  /** Runs a program in JavaScript, or a configuration in workerd; its path and arguments follow. */
  readonly command: readonly string[];
  /** Runs one in TypeScript. */
  readonly typescript: readonly string[];
}

/** The runtime of this process, whose arguments load TypeScript. */
export const ownRuntime: Runtime = {
  name: `Node ${process.versions.node}`,
  command: [process.execPath],
  typescript: [process.execPath, ...process.execArgv],
};

const { arch, platform } = process;

/** Packages with nothing but the binary for this platform. The usual packages fetch it by an install script. */
const packages: Readonly<Record<string, { readonly name: string; readonly version: string; readonly file: string }>> = {
  node22: { name: `node-${platform}-${arch}`, version: '22.23.3', file: 'bin/node' },
  node24: { name: `node-${platform}-${arch}`, version: '24.21.0', file: 'bin/node' },
  bun: { name: `@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}`, version: '1.4.5', file: 'bin/bun' },
  deno: { name: `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`, version: '2.9.6', file: 'deno' },
  workerd: {
    name: `@cloudflare/workerd-${platform}-${arch === 'x64' ? '64' : arch}`,
    version: '1.20261117.1',
    file: 'bin/workerd',
  },
};

const kinds = [
  { name: 'Node', version: /^v(\S+)/, args: [], forTypeScript: ['--import', 'tsx'] },
  {
    name: 'Deno',
    version: /^deno (\S+)/,
    args: ['run', '--allow-all', '--no-check', '--node-modules-dir=manual'],
    forTypeScript: ['--unstable-sloppy-imports'],
  },
  { name: 'workerd', version: /^workerd (\S+)/, args: ['serve'], forTypeScript: [] },
  { name: 'Bun', version: /^(\d\S*)/, args: [], forTypeScript: [] },
];

const cache = fileURLToPath(new URL('../node_modules/.cache/runtimes', import.meta.url));

/**
 * @param wanted `node22`, `node24`, `bun`, `deno`, `workerd`, or the path of a binary of one of them.
 * @returns the reason as text if it isn't installed and npm doesn't deliver it.
 */
export function findRuntime(wanted: string): Runtime | string {
  const source = packages[wanted];
  if (source === undefined)
    return runtimeAt(wanted) ?? `${wanted} is no runtime: give node22, node24, bun, deno, workerd or a path`;
  const { name, version, file } = source;
  const folder = join(cache, `${wanted}-${version}`);
  const binary = join(folder, 'node_modules', name, file);
  if (!existsSync(binary)) install(folder, `${name}@${version}`);
  return runtimeAt(binary) ?? runtimeAt(wanted) ?? `${wanted} is not installed, and npm does not deliver ${name}`;
}

/** If npm fails, there is no binary, which is enough to know. */
function install(folder: string, name: string): void {
  mkdirSync(folder, { recursive: true });
  const args = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', name];
  try {
    execFileSync('npm', [...args, '--fetch-retries=1'], { cwd: folder, stdio: 'ignore' });
  } catch {}
}

/** @returns undefined if the file is not there, does not run on this machine, or is something else. */
function runtimeAt(binary: string): Runtime | undefined {
  let printed: string;
  try {
    printed = execFileSync(binary, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return undefined;
  }
  for (const { name, version, args, forTypeScript } of kinds) {
    const [, number] = version.exec(printed) ?? [];
    const command = [binary, ...args];
    if (number !== undefined) return { name: `${name} ${number}`, command, typescript: [...command, ...forTypeScript] };
  }
  return undefined;
}

/** @param wanted names or paths, separated by commas. @returns this runtime, then those found; others are named. */
export function findRuntimes(wanted: string): Runtime[] {
  const found = [ownRuntime];
  for (const name of wanted.split(',').filter((each) => each !== '')) {
    const runtime = findRuntime(name);
    if (typeof runtime === 'string') console.log(`Left out: ${runtime}`);
    else found.push(runtime);
  }
  return found;
}
