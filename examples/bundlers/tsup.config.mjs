import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    app: 'app.mjs',
    'inference-worker': 'node_modules/orchard-nlp/dist/inference-worker.js',
    'rows-worker': 'node_modules/orchard-nlp/dist/rows-worker.js',
    'training-runner': 'node_modules/orchard-nlp/dist/training-runner.js',
  },
  outDir: 'out',
  format: 'cjs',
  outExtension: () => ({ js: '.cjs' }),
  platform: 'node',
  noExternal: [/./],
});
