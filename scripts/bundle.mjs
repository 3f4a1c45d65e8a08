/** Bundles src/ into dist/ and removes what earlier builds left there; tsup.config.ts has the page at /. */
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');

/** The files that package.json's exports name; tsconfig.types.json makes their declarations. */
const entries = {
  index: 'src/index.ts',
  testing: 'src/testing.ts',
  http: 'src/http.ts',
  graph: 'src/graph.ts',
  postgres: 'src/postgres.ts',
};

/** Entries that run in threads or processes of their own; only Orchard itself starts them. */
const worker = { 'inference-worker': 'src/inference/inference-worker.ts' };

/** Of these, one that is a single file: to look for fifty chunks takes a thread longer than to read 1.3 MB. */
const runner = { 'training-runner': 'src/training/training-runner.ts' };

/** The command; npm links to it. */
const command = { orchard: 'src/orchard.ts' };

/**
 * Put into our own files although it is a dependency: as a package it loads its messages in some sixty languages, and a
 * first answer waits for them. They stay out only because src has `import * as z`. Development dependencies that src
 * imports are bundled too; docs/dependencies.md says why each is.
 */
const BUNDLED = 'zod';

/** What the page at /docs loads, of a package whose other 10 MB nobody reads. */
const REFERENCE = ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'LICENSE', 'NOTICE'];

const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const external = Object.keys({ ...dependencies, ...peerDependencies })
  .filter((name) => name !== BUNDLED)
  .map((name) => new RegExp(`^${name}(/|$)`));

const LATE = '?late';

/**
 * Gives the index of a room that is imported late a module of its own. Without it, all that the room exports would be
 * one chunk, and whoever imports a name of the index early would load the whole room.
 */
const lateRooms = {
  name: 'late-rooms',
  async resolveId(source, importer, { kind }) {
    if (kind !== 'dynamic-import' || !source.endsWith('/index.js')) return undefined;
    const resolved = await this.resolve(source, importer);
    return `${resolved.id}${LATE}`;
  },
  load(id) {
    return id.endsWith(LATE) ? `export * from ${JSON.stringify(id.slice(0, -LATE.length))};` : undefined;
  },
};

/** Bundles some entries. @returns the files that were written. */
async function bundle(input, options) {
  const build = await rolldown({
    cwd: root,
    input,
    external: [/^node:/, ...external],
    plugins: [lateRooms],
    platform: 'node',
    // Rewrites `await using`, which Node knows from release 24 on.
    transform: { target: 'node20' },
    // jsonc-parser's other form loads its parts in a way that bundlers of applications lose.
    resolve: { mainFields: ['module', 'main'] },
  });
  const { output } = await build.write({
    dir: dist,
    format: 'esm',
    // For tests and debuggers in a clone; the package leaves the maps out, so no file names one.
    sourcemap: 'hidden',
    ...options,
  });
  await build.close();
  return output;
}

const output = [
  ...(await bundle({ ...entries, ...worker, ...command }, { chunkFileNames: 'chunk-[name]-[hash].js' })),
  ...(await bundle(runner, { codeSplitting: false })),
];

// The names of chunks change with what is in them. After the writing, so that no file is missing meanwhile.
const written = new Set(output.map(({ fileName }) => fileName));
for (const entry of readdirSync(dist, { withFileTypes: true })) {
  if (entry.isFile() && !written.has(entry.name)) rmSync(join(dist, entry.name));
}
chmodSync(join(dist, 'orchard.js'), 0o755);

const reference = join(dist, 'reference');
mkdirSync(reference, { recursive: true });
for (const name of REFERENCE) {
  copyFileSync(join(root, 'node_modules', 'swagger-ui-dist', name), join(reference, name));
}
