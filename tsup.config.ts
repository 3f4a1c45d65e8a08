import { defineConfig } from 'tsup';

/** The files that package.json's exports name; tsconfig.types.json makes their declarations. */
const entries = {
  index: 'src/index.ts',
  testing: 'src/testing.ts',
  http: 'src/http.ts',
  graph: 'src/graph.ts',
};

/** Entries that run in threads or processes of their own; only Orchard itself starts them. */
const runners = {
  'training-runner': 'src/training/training-runner.ts',
  'inference-worker': 'src/inference/inference-worker.ts',
};

/**
 * Put into our own files: as a package it loads its messages in some sixty languages, once in each thread, and a first
 * answer waits for them. They stay out only because src has `import * as z`.
 */
const noExternal = ['zod'];

export default defineConfig([
  {
    entry: { ...entries, ...runners, orchard: 'src/orchard.ts' },
    format: 'esm',
    target: 'node20',
    platform: 'node',
    splitting: true,
    sourcemap: true,
    noExternal,
    clean: ['dist/*.js', 'dist/*.js.map'],
  },
  {
    entry: { page: 'src/http/page/main.ts', style: 'src/http/page/style.css' },
    outDir: 'dist/page',
    format: 'esm',
    target: 'es2022',
    platform: 'browser',
    noExternal: [/./],
    publicDir: 'src/http/page/static',
    tsconfig: 'src/http/page/tsconfig.json',
    minify: true,
    banner: { js: '/*! Parts are by others: /page/licences.txt */' },
    clean: false,
  },
]);
