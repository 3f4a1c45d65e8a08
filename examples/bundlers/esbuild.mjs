import { build } from 'esbuild';

await build({
  entryPoints: {
    app: 'app.mjs',
    'inference-worker': 'orchard-nlp/inference-worker',
    'rows-worker': 'orchard-nlp/rows-worker',
    'training-runner': 'orchard-nlp/training-runner',
  },
  bundle: true,
  platform: 'node',
  format: 'esm',
  outdir: 'out',
  outExtension: { '.js': '.mjs' },
  // CommonJS packages call require, which ES modules lack.
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
});
