import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import modelsPackage from '../../models/package.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import { InstallationError } from '../contract/index.js';

/** Of this library. */
export const { version } = packageJson;

/** Versions of the software that a training runs on, by name; stored with the model. */
export const runtimeVersions = (): Record<string, string> => ({
  'orchard-nlp': version,
  node: process.versions.node,
  platform: `${process.platform} ${process.arch}`,
});

/** The version of the package `orchard-nlp-models` whose files this library knows. */
export const MODELS_VERSION = modelsPackage.version;

/** Path, size and SHA-256 of each file of each model; loaded when it is asked for, since answering needs none of it. */
export async function readManifest() {
  const { default: manifest } = await import('../../models/manifest.json', { with: { type: 'json' } });
  return manifest;
}

/**
 * Where the code finds what it loads while it runs: files that the build puts next to it, and packages. In an
 * application's bundle neither lies where the code does; both are then looked for from the bundle's place.
 */

const PACKAGE = 'orchard-nlp';
/** Environment variable: a folder with the files of the package's `dist`. */
const VARIABLE = 'ORCHARD_FILES';
const PAGE = 'docs/bundlers.md';
/** Of the files that bundlers make of entries. */
const ENDINGS = ['.js', '.mjs', '.cjs'];

/** Files of `dist` that are started or read by name: the entries of threads, and parts of pages. */
type OwnFile =
  | 'inference-worker.js'
  | 'rows-worker.js'
  | 'training-runner.js'
  | 'page/page.js'
  | 'reference/swagger-ui-bundle.js';

/**
 * The file in the folder that ORCHARD_FILES names, next to the code or the script that runs, or in the package that either
 * finds installed.
 * @param ownUrl gives the URL of the file next to the code; in a bundle of CommonJS it throws.
 * @throws InstallationError if it is not found.
 */
export function ownFile(name: OwnFile, ownUrl: () => URL): URL {
  const looked: string[] = [];
  for (const place of places(name, ownUrl)) {
    if (existsSync(place)) return place;
    looked.push(place.href);
  }
  throw new InstallationError(name, adviceFor(name, looked));
}

function adviceFor(name: OwnFile, looked: readonly string[]): string {
  const asEntry = name.includes('/')
    ? ''
    : `build ${PACKAGE}/${name.replace('.js', '')} as another entry point next to the bundle, or `;
  return `this file of ${PACKAGE} is missing (looked for ${looked.join(', ')}). If you use a bundler, leave ${PACKAGE} out of the bundle (external) and install it, or ${asEntry}set ${VARIABLE} to a copy of the folder node_modules/${PACKAGE}/dist; ${PAGE} shows the settings for each bundler`;
}

function* places(name: OwnFile, ownUrl: () => URL): Generator<URL> {
  const { [VARIABLE]: folder } = process.env;
  if (folder) yield pathToFileURL(join(resolve(folder), name));
  const url = attempt(ownUrl);
  if (url?.protocol === 'file:') yield url;
  const starts = startingPoints();
  for (const start of starts) {
    const directory = dirname(start.startsWith('file:') ? fileURLToPath(start) : start);
    for (const ending of ENDINGS) yield pathToFileURL(join(directory, name.replace(/\.js$/, ending)));
  }
  for (const start of starts) {
    const manifest = resolvedFrom(start, `${PACKAGE}/package.json`);
    if (manifest !== undefined) yield pathToFileURL(join(dirname(manifest), 'dist', name));
  }
}

/** The `require` of the first place from which Node finds the package; this code's if none does. */
export function requireFor(name: string): NodeJS.Require {
  for (const start of packagePlaces()) {
    const found = requireFrom(start);
    if (attempt(() => found.resolve(name)) !== undefined) return found;
  }
  return requireFrom(startingPoints()[0] ?? process.execPath);
}

/** With a strict package manager, only the library itself finds what it depends on. */
function* packagePlaces(): Generator<string> {
  const starts = startingPoints();
  yield* starts;
  for (const start of starts) {
    const manifest = resolvedFrom(start, `${PACKAGE}/package.json`);
    if (manifest !== undefined) yield manifest;
  }
}

/** This code and the script that runs; not the working directory, where untrusted files may lie. */
export function startingPoints(): string[] {
  const here = ownLocation();
  const [, script] = process.argv;
  return [...(here === undefined ? [] : [here]), ...(script === undefined ? [] : [resolve(script)])];
}

/** A bundle of CommonJS has no `import.meta.url`, but the name of its file. */
function ownLocation(): string | undefined {
  const url: string | undefined = import.meta.url;
  if (url?.startsWith('file:')) return url;
  return typeof __filename === 'string' && isAbsolute(__filename) ? __filename : undefined;
}

/** Not imported: webpack would look through each `createRequire` that it knows, and put its own in the place. */
const requireFrom = (start: string): NodeJS.Require => process.getBuiltinModule('node:module').createRequire(start);

/** The path of a package's file, as Node finds it from a file or its URL; undefined if it doesn't. */
export function resolvedFrom(start: string, file: string): string | undefined {
  return attempt(() => requireFrom(start).resolve(file));
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
