import { defineConfig } from 'vite';

export default defineConfig({
  build: {
    ssr: true,
    outDir: 'out',
    rollupOptions: {
      input: {
        app: 'app.mjs',
        'inference-worker': 'orchard-nlp/inference-worker',
        'rows-worker': 'orchard-nlp/rows-worker',
        'training-runner': 'orchard-nlp/training-runner',
      },
      output: { entryFileNames: '[name].mjs' },
    },
  },
  // Without this line, Vite does not bundle packages, and the three extra entries are not needed.
  ssr: { noExternal: true },
});
