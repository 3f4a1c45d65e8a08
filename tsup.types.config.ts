import { defineConfig } from 'tsup';

/** The files that package.json's exports name. */
export const entries = {
  index: 'src/index.ts',
  testing: 'src/testing.ts',
  http: 'src/http.ts',
  graph: 'src/graph.ts',
};

/** The declaration files, apart from the code because they take ten times as long. */
export default defineConfig({
  entry: entries,
  format: 'esm',
  dts: { only: true },
  clean: ['dist/*.d.ts'],
});
