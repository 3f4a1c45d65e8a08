/**
 * Makes a fresh clone ready to run: installs what is missing, and builds where the sources are newer than the build;
 * with --declarations, the declaration files too. Does nothing, in a few milliseconds, where all is there.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Time of the newest file below a path; 0 where there is none. */
function newest(path) {
  if (!existsSync(path)) return 0;
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function npm(...args) {
  const command = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(status ?? 1);
}

const installed = newest(join(root, 'node_modules', '.package-lock.json'));
// Not `npm ci`: it wants every platform's packages in the lock file, and some registries don't carry them all.
if (installed < newest(join(root, 'package-lock.json'))) npm('install', '--ignore-scripts', '--no-save');

const sources = [
  'src',
  'models/manifest.json',
  'scripts/bundle.mjs',
  'tsup.config.ts',
  'tsconfig.types.json',
  'package.json',
].map((path) => newest(join(root, path)));
const isStale = (file) => newest(join(root, 'dist', file)) < Math.max(...sources);
if (isStale('index.js')) npm('run', '--silent', 'build');
if (process.argv.includes('--declarations') && isStale('types/src/index.d.ts')) npm('run', '--silent', 'build:types');
