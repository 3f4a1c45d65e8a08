/**
 * Runs test/package/require.test.ts on the Node versions that the package is for, each fetched from the npm registry
 * once; a version that can't be fetched is named and passed over. Fails where a test fails, or where no version ran.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSIONS = ['20.19.0', '22.12.0', '24'];

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const windows = process.platform === 'win32';
const passed = [];
for (const version of VERSIONS) {
  const node = fetchNode(version);
  if (node === undefined) {
    console.log(`Node ${version}: not in reach, not tested`);
    continue;
  }
  const { stdout } = run(node, ['--version'], {});
  console.log(`Node ${stdout?.trim()}:`);
  const tests = ['run', 'test/package/require.test.ts'];
  const { status } = run(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...tests], {
    env: { ...process.env, NODE_BINARY: node },
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(1);
  passed.push(version);
}
console.log(`passed on ${passed.length} of ${VERSIONS.length} versions of Node: ${passed.join(', ')}`);
if (passed.length === 0) process.exitCode = 1;

/** @returns the path of its executable file; undefined where the registry does not give it. */
function fetchNode(version) {
  const platform = windows ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const folder = join(root, 'node_modules/.cache/node', version);
  const executable = join(folder, 'node_modules', name, 'bin', windows ? 'node.exe' : 'node');
  if (existsSync(executable)) return executable;
  mkdirSync(folder, { recursive: true });
  const install = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', `${name}@${version}`];
  const { status } = run(windows ? 'npm.cmd' : 'npm', install, { shell: windows });
  return status === 0 && existsSync(executable) ? executable : undefined;
}

function run(command, args, options) {
  return spawnSync(command, args, { cwd: root, encoding: 'utf8', ...options });
}
