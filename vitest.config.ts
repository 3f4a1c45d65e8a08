import { defineConfig } from 'vitest/config';

/** Tests of models/: its recipes, and what needs the weights of the catalogue. `npm run test:models` runs them. */
const MODELS = [
  'test/catalogue/**/*.test.ts',
  'test/api/export-model.test.ts',
  'test/inference/{explain,inline-worker}.test.ts',
  'test/models/published-models.test.ts',
];

/** Tests of documentation, examples, packaging, dependencies and releases. `npm run check` runs them. */
const CHECKS = [
  'test/{docs,docs-figures,house,rooms}.test.ts',
  'test/cli/docs.test.ts',
  'test/package/**/*.test.ts',
  'test/public/pretrained.test.ts',
  'test/site/**/*.test.ts',
  'test/trust-names/{dependencies,security-page}.test.ts',
];

/**
 * Services of several processes: over one database, killed, cut off, restarted, attacked. `npm run test:processes` runs
 * short forms of the longest.
 */
const PROCESSES = [
  'test/trust/{crash,versions,attack/attack,soak/soak}.test.ts',
  'test/postgres/{cluster,handover,queue-outages}.test.ts',
  'test/http/roles/{api-role,trainer-role}.test.ts',
  'test/storage/file-storage-processes.test.ts',
  'test/api/distill-killed.test.ts',
  'test/public/{realms,endings,own-process}.test.ts',
];

/**
 * Folders whose tests leave nothing behind: no mocked module and no environment variable. Their files share a process,
 * which imports the library once.
 */
const SHARED = [
  'test/{contract,datasets,encoder,graph,inference,jobs,models,postgres,report,storage,system,text,training}/*.test.ts',
  'test/{engine,families,lexical}/**/*.test.ts',
  'test/http/!(command|fuzz-connections).test.ts',
];

export default defineConfig({
  test: {
    globalSetup: 'test/support/own-temporary-folder.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    // `npm test` runs the two projects whose names end with "-process".
    projects: [
      {
        name: 'own-process',
        include: ['test/**/*.test.ts'],
        exclude: [...SHARED, ...MODELS, ...CHECKS, ...PROCESSES],
      },
      {
        name: 'shared-process',
        include: SHARED,
        exclude: [...MODELS, ...CHECKS, ...PROCESSES],
        isolate: false,
      },
      { name: 'models', include: MODELS },
      { name: 'processes', include: PROCESSES },
      { name: 'checks', include: CHECKS },
    ].map((test) => ({ extends: true as const, test })),
    // `npm run coverage`. Threads and processes of the library run from dist/ and aren't counted.
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/engine/kernels/assembly/**', 'src/engine/kernels/generated.ts', 'src/http/page/**'],
      reporter: ['text-summary', 'html', 'json-summary'],
      reportOnFailure: true,
    },
  },
});
