import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/own-temporary-folder.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
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
