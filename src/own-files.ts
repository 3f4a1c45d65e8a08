/**
 * Where the code finds what it loads while it runs: files that the build puts beside it, and packages. In an
 * application's bundle neither lies where the code does; both are then looked for from the bundle's place.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { InstallationError } from './errors.js';

const PACKAGE = 'orchard-nlp';
/** Environment variable: a folder with the files of the package's `dist`. */
const VARIABLE = 'ORCHARD_FILES';
const PAGE = 'docs/bundlers.md';

/** Files of `dist` that are started or read by name: the entries of threads, and parts of pages. */
export type OwnFile =
  | 'inference-worker.js'
  | 'training-runner.js'
  | 'page/page.js'
  | 'reference/swagger-ui-bundle.js';

/**
 * The file in the folder that ORCHARD_FILES names, beside the code, or in the package that is installed where the code
 * or the working directory is.
 * @param beside gives the URL beside the code; in a bundle of CommonJS it throws.
 * @throws InstallationError if it is nowhere.
 */
export function ownFile(name: OwnFile, beside: () => URL): URL {
  const looked: string[] = [];
  for (const place of places(name, beside)) {
    if (existsSync(place)) return place;
    looked.push(place.href);
  }
  throw new InstallationError(name, adviceFor(name, looked));
}

function adviceFor(name: OwnFile, looked: readonly string[]): string {
  const asEntry = name.includes('/')
    ? ''
    : `build ${PACKAGE}/${name.replace('.js', '')} as a further entry beside the bundle, or `;
  return `this file of ${PACKAGE} is not there (looked for ${looked.join(', ')}). Where a bundler put the library into another file, leave ${PACKAGE} out of the bundle (external) and install it beside, or ${asEntry}set ${VARIABLE} to a copy of the folder node_modules/${PACKAGE}/dist; ${PAGE} has the lines for each bundler`;
}

function* places(name: OwnFile, beside: () => URL): Generator<URL> {
  const { [VARIABLE]: folder } = process.env;
  if (folder) yield pathToFileURL(join(resolve(folder), name));
  const url = attempt(beside);
  if (url?.protocol === 'file:') yield url;
  for (const start of startingPoints()) {
    const manifest = attempt(() => createRequire(start).resolve(`${PACKAGE}/package.json`));
    if (manifest !== undefined) yield pathToFileURL(join(dirname(manifest), 'dist', name));
  }
}

/**
 * The `require` of a place from which Node finds the package: this code's, the library's where that is installed, or the
 * working directory's; this code's if it is nowhere.
 */
export function requireFor(name: string): NodeJS.Require {
  for (const start of packagePlaces()) {
    const require = createRequire(start);
    if (attempt(() => require.resolve(name)) !== undefined) return require;
  }
  return createRequire(startingPoints()[0] ?? workingDirectory());
}

/** With a strict package manager, only the library itself finds what it depends on. */
function* packagePlaces(): Generator<string> {
  const starts = startingPoints();
  yield* starts;
  for (const start of starts) {
    const manifest = attempt(() => createRequire(start).resolve(`${PACKAGE}/package.json`));
    if (manifest !== undefined) yield manifest;
  }
}

/** From where packages are looked for: the code, the script that runs, the working directory. A bundle of CommonJS has no `import.meta.url`. */
export function startingPoints(): string[] {
  const here: string | undefined = import.meta.url;
  const [, script] = process.argv;
  return [
    ...(here?.startsWith('file:') ? [here] : []),
    ...(script === undefined ? [] : [resolve(script)]),
    workingDirectory(),
  ];
}

const workingDirectory = (): string => join(process.cwd(), 'index.js');

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
