/** How one bundler is fetched, and how it makes `out/` of the application. */
export interface Bundler {
  /** From npm, the bundler first. */
  readonly packages: readonly string[];
  /** Of examples/bundlers; Next's are the project examples/projects/next. */
  readonly files: readonly string[];
  readonly build: readonly string[];
  /** What is run. */
  readonly output: string;
}

export const bundlers: Readonly<Record<string, Bundler>> = {
  esbuild: {
    packages: ['esbuild'],
    files: ['app.mjs', 'esbuild.mjs'],
    build: [process.execPath, 'esbuild.mjs'],
    output: 'out/app.mjs',
  },
  tsup: {
    packages: ['tsup', 'typescript@5'],
    files: ['app.mjs', 'tsup.config.mjs'],
    build: ['npx', 'tsup', '--config', 'tsup.config.mjs'],
    output: 'out/app.cjs',
  },
  webpack: {
    packages: ['webpack', 'webpack-cli'],
    files: ['app.mjs', 'webpack.config.mjs'],
    build: ['npx', 'webpack'],
    output: 'out/app.cjs',
  },
  vite: {
    packages: ['vite'],
    files: ['app.mjs', 'vite.config.mjs'],
    build: ['npx', 'vite', 'build'],
    output: 'out/app.mjs',
  },
  next: {
    packages: ['next@16', 'react', 'react-dom'],
    files: [],
    build: ['npx', 'next', 'build'],
    output: '.next/standalone/server.js',
  },
};
