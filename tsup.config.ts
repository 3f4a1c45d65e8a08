import { defineConfig } from 'tsup';

/** The page at /; scripts/bundle.mjs makes the package's own files. */
export default defineConfig({
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
});
