/**
 * Mutation scores of rooms: `npm run test:mutation [-- <room>… --sample <count> --seed <number>]`. StrykerJS changes one
 * expression of a room's sources at a time and runs the tests of that room that reach it: a mutant that no test notices has
 * survived. `.mutation/<room>/` has the report, and the results, so that a later run only tries what has changed since.
 *
 * With a sample, only the mutants at so many places of each room are tried, which are drawn with the seed (default 1): 100
 * places give the score to ±7 points.
 *
 * Mutants are active in the tests' own thread. Those that only worker threads and child processes reach, which run dist/,
 * count as not covered.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const FOLDER = '.mutation';

/** The last release for Node 20. */
const VERSION = '9.6.1';
const PACKAGES = ['@stryker-mutator/core', '@stryker-mutator/vitest-runner'];

/** The least score of a room, in percent. */
const BAR = 85;

/** The rooms that keep promises, with the tests of each. */
const TESTS = {
  jobs: ['test/jobs/*.test.ts', 'test/trust/rights-{erase,idempotency,unused}.test.ts'],
  storage: ['test/storage/!(file-storage-processes).test.ts', 'test/storage/system-calls/*.test.ts'],
  system: [
    ...['test/system/*.test.ts', 'test/system/own-process/*.test.ts', 'test/device/device-turns.test.ts'],
    ...['test/datasets/unzip.test.ts', 'test/storage/system-calls/*.test.ts'],
  ],
  engine: ['test/engine/**/*.test.ts', 'test/training/training-loop.test.ts'],
  datasets: ['test/datasets/*.test.ts', 'test/api/{rows,row-files}.test.ts'],
  contract: ['test/contract/*.test.ts'],
  http: ['test/http/!(command|curl|fuzz*|generated-client|page*).test.ts'],
  inference: ['test/inference/!(inline-worker|explain).test.ts', 'test/api/rules.test.ts'],
};

/** Built, or run in a browser. */
const NOT_MUTATED = ['src/engine/kernels/generated.ts', 'src/engine/kernels/assembly/', 'src/http/page/'];
/** Messages are worded anew too often to have a test for each. */
const EXCLUDED = ['StringLiteral'];

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
  const options = ['--prefix', FOLDER, '--legacy-peer-deps', '--no-audit', '--no-fund'];
  const status = run('npm', ['install', ...options, ...PACKAGES.map((name) => `${name}@${VERSION}`)]);
  if (status !== 0) process.exit(status);
}

function sourcesOf(room) {
  return readdirSync(join(root, 'src', room), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .filter((file) => !NOT_MUTATED.some((start) => file.startsWith(start)))
    .sort();
}

/** Some places of mutants in these files, as Stryker writes ranges. */
async function drawn(files, count, seed) {
  const instrumenter = createRequire(packageFile(PACKAGES[0])).resolve('@stryker-mutator/instrumenter');
  const { Instrumenter } = await import(pathToFileURL(instrumenter).href);
  const silent = { debug() {}, info() {}, warn() {}, isDebugEnabled: () => false };
  const sources = files.map((name) => ({ name, mutate: true, content: readFileSync(join(root, name), 'utf8') }));
  const options = { plugins: null, excludedMutations: EXCLUDED, ignorers: [], noHeader: false };
  const { mutants } = await new Instrumenter(silent).instrument(sources, options);
  const places = new Set();
  for (const { fileName, status, location } of mutants) {
    const { start, end } = location;
    // A range takes along all that lies in it, so long ones would fill the sample with their insides.
    if (status === 'Ignored' || end.line - start.line > 1) continue;
    places.add(`${fileName}:${start.line + 1}:${start.column}-${end.line + 1}:${end.column}`);
  }
  let state = seed;
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state;
  };
  const order = [...places].map((place) => [random(), place]).sort(([a], [b]) => a - b);
  return order.slice(0, count).map(([, place]) => place);
}

/** @returns the path of the configuration. */
function configure(room, mutate, isSample) {
  const folder = `${FOLDER}/${room}`;
  mkdirSync(join(root, folder), { recursive: true });
  const patience = { testTimeout: 120_000, hookTimeout: 120_000 };
  const test = { include: TESTS[room], globalSetup: 'test/support/own-temporary-folder.ts', ...patience };
  const vitestConfig = join(root, folder, 'vitest.config.mjs');
  writeFileSync(vitestConfig, `export default ${JSON.stringify({ test }, undefined, 2)};\n`);
  const config = {
    testRunner: 'vitest',
    plugins: [join(root, FOLDER, 'node_modules', '@stryker-mutator', 'vitest-runner', 'dist', 'src', 'index.js')],
    vitest: { configFile: vitestConfig, related: false },
    mutate,
    mutator: { excludedMutations: EXCLUDED },
    ignoreStatic: true,
    incremental: !isSample,
    incrementalFile: `${folder}/incremental.json`,
    tempDirName: `${FOLDER}/sandbox`,
    ignorePatterns: [FOLDER, 'coverage', 'release', 'site', 'models/**/checkpoints'],
    concurrency: Math.max(1, Math.floor(availableParallelism() / 2)),
    timeoutMS: 60_000,
    dryRunTimeoutMinutes: 15,
    reporters: ['progress', 'clear-text', 'html', 'json'],
    clearTextReporter: { logTests: false, reportTests: false, allowColor: false },
    htmlReporter: { fileName: `${folder}/report.html` },
    jsonReporter: { fileName: `${folder}/report.json` },
    thresholds: { high: 90, low: BAR, break: BAR },
  };
  const file = `${folder}/stryker.json`;
  writeFileSync(join(root, file), `${JSON.stringify(config, undefined, 2)}\n`);
  return file;
}

const { values, positionals } = parseArgs({
  options: { sample: { type: 'string' }, seed: { type: 'string', default: '1' } },
  allowPositionals: true,
});
const unknown = positionals.find((room) => !Object.hasOwn(TESTS, room));
if (unknown !== undefined) {
  console.error(`no room ${unknown} to mutate; the rooms are ${Object.keys(TESTS).join(', ')}`);
  process.exit(2);
}
install();
const stryker = join(root, FOLDER, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');
const below = [];
for (const room of positionals.length > 0 ? positionals : Object.keys(TESTS)) {
  const sources = sourcesOf(room);
  const isSample = values.sample !== undefined;
  const mutate = isSample ? await drawn(sources, Number(values.sample), Number(values.seed)) : sources;
  if (run(process.execPath, [stryker, 'run', configure(room, mutate, isSample)]) !== 0) below.push(room);
}
if (below.length > 0) {
  console.error(`below ${BAR} %, or failed: ${below.join(', ')}`);
  process.exitCode = 1;
}
