/** Bundles src/ into dist/ and removes what earlier builds left there; tsup.config.ts has the page at /. */
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
const worker = {
  'inference-worker': 'src/inference/inference-worker.ts',
  'rows-worker': 'src/api/rows-worker.ts',
};

/** Of these, one that is a single file: to look for fifty chunks takes a thread longer than to read 1.3 MB. */
const runner = { 'training-runner': 'src/training/training-runner.ts' };

/** What runs anywhere, without modules of Node and without zod: what all models need, and a file for what only some do. */
const anywhere = { web: 'src/web.ts' };

/** The command; npm links to it. */
const command = { orchard: 'src/orchard.ts' };

/**
 * Put into our own files although it is a dependency: as a package it loads its messages in some sixty languages, and a
 * first answer waits for them. They stay out only because src has `import * as z`. Development dependencies that src
 * imports are bundled too; docs/dependencies.md says why each is.
 */
const BUNDLED = ['zod'];
/** What runs anywhere has neverthrow, too, which Node would load in its slower CommonJS form. */
const BUNDLED_ANYWHERE = [...BUNDLED, 'neverthrow'];

/** What the page at /docs loads, of a package whose other 10 MB nobody reads. */
const REFERENCE = ['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'LICENSE', 'NOTICE'];

const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const externalBut = (bundled) =>
  Object.keys({ ...dependencies, ...peerDependencies })
    .filter((name) => !bundled.includes(name))
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

const REEXPORT = /^export \{ ([^}]*) \} from "(\.\/[^"]*)";\s*$/;

/** Imports what a file of {@link TOGETHER} has from there, not through a file that only hands it on. */
const directImports = {
  name: 'direct-imports',
  generateBundle(_options, output) {
    const chunks = Object.values(output).filter(({ type }) => type === 'chunk');
    for (const { fileName, isEntry, code } of chunks) {
      const [, names, source] = REEXPORT.exec(code) ?? [];
      if (isEntry || source === undefined) continue;
      const members = names.split(', ').map((each) => {
        const [name, alias = name] = each.split(' as ');
        return `${alias}: all.${name}`;
      });
      const direct = `import("${source}").then((all) => ({ ${members.join(', ')} }))`;
      for (const chunk of chunks) chunk.code = chunk.code.replaceAll(`import("./${fileName}")`, direct);
      delete output[fileName];
    }
  },
};

/** Functions of Node's modules that a first answer needs none of, and that take milliseconds to load. */
const LATE_FUNCTIONS = {
  'node:crypto': ['createHash', 'randomBytes', 'randomUUID', 'timingSafeEqual'],
  'node:child_process': ['fork', 'spawn'],
};

/** Loads a module of Node when one of its functions is called. */
const lateFunctions = {
  name: 'late-functions',
  resolveId(source, _importer, { kind }) {
    if (LATE_FUNCTIONS[source] === undefined) return undefined;
    return kind === 'import-statement' ? `late-${source}` : { id: source, external: true };
  },
  load(id) {
    const module = id.replace(/^late-/, '');
    return LATE_FUNCTIONS[module]
      ?.map((name) => `export const ${name} = (...given) => process.getBuiltinModule('${module}').${name}(...given);`)
      .join('\n');
  },
};

/** What runs a classifier, in a thread of its own or in the caller's. */
const ANSWER = [
  'src/inference/inline-worker.ts',
  'src/inference/inference-worker.ts',
  'src/inference/model-size.ts',
  'src/families/classification/decoder.ts',
];

/**
 * Files that a process loads together are one file: to find and read one takes as long as to compile 15 kB. Each has what
 * its `sources` need, but for what an earlier file has. `base` is only what `sources` and any of `sharedWith` need, so that
 * an entry doesn't load all of `index` for the errors.
 */
const TOGETHER = [
  {
    name: 'base',
    sources: ['src/index.ts'],
    sharedWith: ['src/orchard.ts', 'src/graph.ts', 'src/testing.ts', ...ANSWER],
  },
  { name: 'core', sources: ['src/index.ts'] },
  { name: 'graph', sources: ANSWER, sharedWith: ['src/graph.ts'] },
  { name: 'answer', sources: ANSWER },
  { name: 'entities', sources: ['src/families/entities/decoder.ts'] },
  { name: 'retrieval', sources: ['src/families/retrieval/decoder.ts'] },
];

/** The groups of {@link TOGETHER}, for chunks that were made without them. */
function groupsOf(chunks) {
  const byName = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  // They run when they are loaded.
  const own = new Set(chunks.flatMap(({ isEntry, facadeModuleId }) => (isEntry ? [facadeModuleId] : [])));
  const neededBy = (sources) => {
    const found = new Set();
    const visit = (chunk) => {
      if (chunk === undefined || found.has(chunk)) return;
      found.add(chunk);
      for (const name of chunk.imports) visit(byName.get(name));
    };
    for (const source of sources) visit(chunks.find(({ facadeModuleId }) => facadeModuleId === join(root, source)));
    return new Set([...found].flatMap(({ moduleIds }) => moduleIds));
  };
  return TOGETHER.map(({ name, sources, sharedWith }, index) => {
    const needed = neededBy(sources);
    const shared = sharedWith && neededBy(sharedWith);
    const test = (id) => needed.has(id) && !own.has(id) && (shared === undefined || shared.has(id));
    return { name, test, priority: TOGETHER.length - index };
  });
}

/** Bundles some entries. @returns the files that were written. */
async function bundle(input, { platform = 'node', ...options }) {
  const build = await rolldown({
    cwd: root,
    input,
    external:
      platform === 'node'
        ? [/^node:(?!crypto$|child_process$)/, ...externalBut(BUNDLED)]
        : [/^node:/, ...externalBut(BUNDLED_ANYWHERE)],
    plugins: platform === 'node' ? [lateFunctions, lateRooms, directImports] : [],
    platform,
    ...(platform !== 'node' && { treeshake: { moduleSideEffects: false } }),
    preserveEntrySignatures: 'allow-extension',
    // Rewrites `await using`, which Node knows from release 24 on.
    transform: { target: 'node20' },
    // jsonc-parser's other form loads its parts in a way that bundlers of applications lose.
    resolve: {
      mainFields: ['module', 'main'],
      ...(platform !== 'node' && { conditionNames: ['browser', 'import', 'default'] }),
    },
  });
  const grouped = async () => ({
    groups: groupsOf((await build.generate({ format: 'esm' })).output),
    includeDependenciesRecursively: false,
  });
  const { output } = await build.write({
    dir: dist,
    format: 'esm',
    // For tests and debuggers in a clone; the package leaves the maps out, so no file names one.
    sourcemap: 'hidden',
    ...options,
    codeSplitting: options.codeSplitting ?? (await grouped()),
  });
  await build.close();
  return output;
}

const output = [
  ...(await bundle({ ...entries, ...worker, ...command }, { chunkFileNames: 'chunk-[name]-[hash].js' })),
  ...(await bundle(runner, { codeSplitting: false })),
  ...(await bundle(anywhere, { platform: 'neutral', codeSplitting: true, chunkFileNames: 'web-[name]-[hash].js' })),
];

// The names of chunks change with what is in them. After the writing, so that no file is missing meanwhile.
const written = new Set(output.map(({ fileName }) => fileName));
for (const entry of readdirSync(dist, { withFileTypes: true })) {
  if (entry.isFile() && entry.name !== 'kernels.wasm' && !written.has(entry.name)) rmSync(join(dist, entry.name));
}
chmodSync(join(dist, 'orchard.js'), 0o755);

// For places that compile no code at run time.
const [, kernels] = /'([^']+)';/.exec(readFileSync(join(root, 'src', 'engine', 'kernels', 'generated.ts'), 'utf8'));
writeFileSync(join(dist, 'kernels.wasm'), Buffer.from(kernels, 'base64'));

const reference = join(dist, 'reference');
mkdirSync(reference, { recursive: true });
for (const name of REFERENCE) {
  copyFileSync(join(root, 'node_modules', 'swagger-ui-dist', name), join(reference, name));
}
