import { defineConfig } from 'vitest/config';

/** Tests of models/: its recipes, and what needs the weights of the catalogue. `npm run test:models` runs them. */
const MODELS = [
  'test/models/**/*.test.ts',
  'test/easy/export-model.test.ts',
  'test/inference/{explain,inline-lane}.test.ts',
  'test/model-loader/published-models.test.ts',
];

/** Tests of documentation, examples, packaging, dependencies and releases. `npm run check` runs them. */
const CHECKS = [
  'test/{docs,house,rooms}.test.ts',
  'test/cli/docs.test.ts',
  'test/package/**/*.test.ts',
  'test/site/**/*.test.ts',
  'test/trust-names/{dependencies,security-page}.test.ts',
];

/**
 * Folders whose tests leave nothing behind: no mocked module, no changed environment variable. Their files share a process,
 * which imports the library once.
 */
const SHARED = [
  'test/{contract,datasets,encoder,engine,families,files,graph,http,inference,jobs,kernels,lexical}/*.test.ts',
  'test/families/*/*.test.ts',
  'test/{medley,model-folder,network,predictor,report,safetensors,storage,tokenizer,trainer,training}/*.test.ts',
  'test/vector-index/*.test.ts',
];

export default defineConfig({
  test: {
    globalSetup: 'test/support/own-temporary-folder.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    projects: [
      project('own-process', ['test/**/*.test.ts'], [...SHARED, ...MODELS, ...CHECKS]),
      { ...project('shared-process', SHARED, [...MODELS, ...CHECKS]), isolate: false },
      project('models', MODELS),
      project('checks', CHECKS),
    ].map((test) => ({ extends: true as const, test })),
    // `npm run coverage`. Threads and processes of the library run from dist/ and aren't counted.
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/kernels/assembly/**', 'src/kernels/generated.ts', 'src/http/page/**'],
      reporter: ['text-summary', 'html', 'json-summary'],
      reportOnFailure: true,
    },
  },
});

function project(name: string, include: string[], exclude: string[] = []) {
  return { name, include, exclude };
}
