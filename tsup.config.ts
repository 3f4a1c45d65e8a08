import { defineConfig } from 'tsup';

/** Entries that run in threads or processes of their own; only Orchard itself starts them. */
const runners = {
  'training-runner': 'src/training/training-runner.ts',
  'inference-worker': 'src/inference/inference-worker.ts',
};

const entries = { index: 'src/index.ts', testing: 'src/testing.ts', http: 'src/http.ts' };

export default defineConfig([
  {
    entry: { ...entries, ...runners, orchard: 'src/orchard.ts' },
    format: 'esm',
    target: 'node20',
    platform: 'node',
    splitting: true,
    sourcemap: true,
    clean: ['dist/*.js', 'dist/*.js.map'],
  },
  {
    entry: entries,
    format: 'cjs',
    target: 'node20',
    platform: 'node',
    shims: true,
    sourcemap: true,
    clean: false,
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
