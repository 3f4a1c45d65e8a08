import { defineConfig } from 'tsup';

/** The declaration files, apart from the code because they take ten times as long. */
export default defineConfig({
  entry: { index: 'src/index.ts', testing: 'src/testing.ts', http: 'src/http.ts' },
  format: ['esm', 'cjs'],
  dts: { only: true },
  clean: false,
});
