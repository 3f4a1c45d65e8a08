import { defineConfig } from 'vite';

export default defineConfig({
  build: {
    ssr: true,
    outDir: 'out',
    rollupOptions: {
      input: {
        app: 'app.mjs',
        'inference-worker': 'orchard-nlp/inference-worker',
        'training-runner': 'orchard-nlp/training-runner',
      },
      output: { entryFileNames: '[name].mjs' },
    },
  },
  // Without this line, Vite leaves packages where they are, and needs no further entries.
  ssr: { noExternal: true },
});
