/**
 * Packs the library and its models for a release: builds what is missing, then one tarball each, and checks that nothing
 * is left out or too much. `npm pack` alone would not build, since .npmrc keeps npm from running scripts, so it fails here.
 * @param argv.2 the folder to put the tarballs into. Default: release/.
 * @param argv with `--library`, the library alone.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const target = resolve(args.find((each) => !each.startsWith('--')) ?? join(root, 'release'));
const isWindows = process.platform === 'win32';

/** What an application must find in the tarball of the library. */
const NEEDED = [
  'dist/index.js',
  'dist/http.js',
  'dist/inference-worker.js',
  'dist/rows-worker.js',
  'dist/training-runner.js',
  'dist/orchard.js',
  'dist/page/page.js',
  'dist/reference/swagger-ui-bundle.js',
  'dist/types/src/index.d.ts',
  'LICENSE',
  'README.md',
  'licences.txt',
];

function pack(folder, needed) {
  const options = ['pack', '--json', '--ignore-scripts', '--pack-destination', target];
  const stdout = execFileSync(isWindows ? 'npm.cmd' : 'npm', options, {
    cwd: folder,
    encoding: 'utf8',
    shell: isWindows,
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  });
  // npm 12 and later tell packages by their names.
  const [packed] = Object.values(JSON.parse(stdout));
  const paths = packed.files.map(({ path }) => path);
  const problems = [
    ...needed.filter((path) => !paths.includes(path)).map((path) => `${path} is missing`),
    ...paths.filter((path) => path.endsWith('.map')).map((path) => `${path} is a source map`),
  ];
  if (problems.length > 0) throw new Error(`${packed.filename}: ${problems.join('; ')}`);
  console.log(
    `${join(target, packed.filename)}: ${megabytes(packed.size)} MB, ${megabytes(packed.unpackedSize)} MB unpacked`,
  );
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

mkdirSync(target, { recursive: true });
execFileSync(process.execPath, [join(root, 'scripts', 'prepare.mjs'), '--declarations'], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
pack(root, NEEDED);
if (!args.includes('--library'))
  pack(join(root, 'models'), ['index.js', 'catalogue/sentiment-classification/config.json']);
