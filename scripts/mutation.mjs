/**
 * Mutation scores of rooms: `npm run test:mutation [-- <room>…]`. StrykerJS changes one expression of the room's sources at a
 * time and runs the tests of the room that reach it: a mutant that no test notices has survived. Results are kept in
 * `.mutation/<room>/`, with a report in HTML, and later runs only try what has changed since.
 *
 * Mutants are active in the tests' own thread. Those that only worker threads or child processes reach, which run dist/,
 * count as not covered.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const FOLDER = '.mutation';

/** The last release for Node 20. Installed when it is first needed: these are 170 packages, and one command's. */
const VERSION = '9.6.1';
const PACKAGES = ['@stryker-mutator/core', '@stryker-mutator/vitest-runner'];

/** The least score of a room, in percent. */
const BAR = 85;

/** The rooms that keep promises, with the tests of each. */
const TESTS = {
  jobs: ['test/jobs/*.test.ts'],
  storage: ['test/storage/!(file-storage-processes).test.ts', 'test/storage/flushes/*.test.ts'],
  system: ['test/system/*.test.ts', 'test/storage/flushes/*.test.ts'],
  engine: ['test/engine/**/*.test.ts', 'test/training/training-loop.test.ts'],
  datasets: ['test/datasets/*.test.ts', 'test/api/{rows,row-files}.test.ts'],
  contract: ['test/contract/*.test.ts'],
  http: ['test/http/*.test.ts'],
  inference: ['test/inference/!(inline-worker|explain).test.ts'],
};

/** Built, or run in a browser. */
const NOT_MUTATED = ['src/engine/kernels/generated.ts', 'src/engine/kernels/assembly/**', 'src/http/page/**'];

/** @returns the exit status. */
function run(command, args) {
  return spawnSync(command, args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' }).status ?? 1;
}

function packageFile(name) {
  return join(root, FOLDER, 'node_modules', name, 'package.json');
}

/** Installs Stryker below the project, from where it finds the project's own Vitest. */
function install() {
  const isInstalled = PACKAGES.every(
    (name) => existsSync(packageFile(name)) && JSON.parse(readFileSync(packageFile(name), 'utf8')).version === VERSION,
  );
  if (isInstalled) return;
  mkdirSync(join(root, FOLDER), { recursive: true });
  writeFileSync(join(root, FOLDER, 'package.json'), '{ "private": true }\n');
  const versions = PACKAGES.map((name) => `${name}@${VERSION}`);
  const status = run('npm', [
    'install',
    '--prefix',
    FOLDER,
    '--legacy-peer-deps',
    '--no-audit',
    '--no-fund',
    ...versions,
  ]);
  if (status !== 0) process.exit(status);
}

function configOf(room) {
  const folder = `${FOLDER}/${room}`;
  mkdirSync(join(root, folder), { recursive: true });
  const tests = { include: TESTS[room], globalSetup: 'test/support/own-temporary-folder.ts', testTimeout: 60_000 };
  const vitestConfig = join(folder, 'vitest.config.mjs');
  writeFileSync(join(root, vitestConfig), `export default ${JSON.stringify({ test: tests }, undefined, 2)};\n`);
  const config = {
    testRunner: 'vitest',
    plugins: [join(root, FOLDER, 'node_modules', '@stryker-mutator', 'vitest-runner', 'dist', 'src', 'index.js')],
    vitest: { configFile: join(root, vitestConfig), related: false },
    mutate: [`src/${room}/**/*.ts`, ...NOT_MUTATED.map((files) => `!${files}`)],
    // Messages are worded anew too often to have a test for each.
    mutator: { excludedMutations: ['StringLiteral'] },
    ignoreStatic: true,
    incremental: true,
    incrementalFile: `${folder}/incremental.json`,
    tempDirName: `${FOLDER}/sandbox`,
    ignorePatterns: ['.mutation', 'coverage', 'release', 'site', 'models/**/checkpoints'],
    concurrency: Math.max(1, Math.floor(availableParallelism() / 2)),
    timeoutMS: 60_000,
    dryRunTimeoutMinutes: 15,
    reporters: ['progress', 'clear-text', 'html'],
    clearTextReporter: { logTests: false, reportTests: false, allowColor: false },
    htmlReporter: { fileName: `${folder}/report.html` },
    thresholds: { high: 90, low: BAR, break: BAR },
  };
  const file = `${folder}/stryker.json`;
  writeFileSync(join(root, file), `${JSON.stringify(config, undefined, 2)}\n`);
  return file;
}

const asked = process.argv.slice(2);
const unknown = asked.find((room) => !Object.hasOwn(TESTS, room));
if (unknown !== undefined) {
  console.error(`no room ${unknown} to mutate; the rooms are ${Object.keys(TESTS).join(', ')}`);
  process.exit(2);
}
install();
const stryker = join(root, FOLDER, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');
const rooms = asked.length > 0 ? asked : Object.keys(TESTS);
const below = rooms.filter((room) => run(process.execPath, [stryker, 'run', configOf(room)]) !== 0);
if (below.length > 0) console.error(`below ${BAR} %, or failed: ${below.join(', ')}`);
process.exitCode = below.length > 0 ? 1 : 0;
