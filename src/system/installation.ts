import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import modelsPackage from '../../models/package.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import { InstallationError } from '../contract/index.js';

/** Of this library. */
export const { version } = packageJson;

/** Versions of the software that training runs on, by name. They are stored with the model. */
export const runtimeVersions = (): Record<string, string> => ({
  'orchard-nlp': version,
  node: process.versions.node,
  platform: `${process.platform} ${process.arch}`,
});

/** The version of the package `orchard-nlp-models` whose files this library knows. */
export const MODELS_VERSION = modelsPackage.version;

/** Path, size and SHA-256 of each file of each model. Imported on demand, because an answer doesn't need them. */
export async function readManifest() {
  const { default: manifest } = await import('../../models/manifest.json', { with: { type: 'json' } });
  return manifest;
}

/**
 * Finds what the code loads while it runs: packages, and files that the build puts next to the code. In an application's
 * bundle, neither is next to the code. The search then starts at the bundle.
 */

const PACKAGE = 'orchard-nlp';
/** Environment variable: a folder with the files of the package's `dist`. */
const VARIABLE = 'ORCHARD_FILES';
const PAGE = 'docs/bundlers.md in the repository';
/** File name extensions of the entries that bundlers write. */
const ENDINGS = ['.js', '.mjs', '.cjs'];

/** Files of `dist` that are started or read by name: entries of threads, and parts of pages. */
type OwnFile =
  | 'inference-worker.js'
  | 'rows-worker.js'
  | 'training-runner.js'
  | 'page/page.js'
  | 'reference/swagger-ui-bundle.js';

/**
 * Finds a file of `dist`: in the folder ORCHARD_FILES, next to the code, next to the script that runs, or in the installed
 * package.
 * @param ownUrl returns the URL of the file next to the code; it throws in a CommonJS bundle
 * @throws InstallationError if the file is in none of these places
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
  const ways = [
    `leave ${PACKAGE} out of the bundle (external) and install it`,
    ...(name.includes('/')
      ? []
      : [`build ${PACKAGE}/${name.replace('.js', '')} as another entry point next to the bundle`]),
    `set ${VARIABLE} to a copy of node_modules/${PACKAGE}/dist`,
  ];
  const problem = `this file of ${PACKAGE} is missing (looked for ${looked.join(', ')})`;
  return `${problem}. If you use a bundler, do one of these: ${ways.join('; ')}. ${PAGE} shows the settings for each bundler`;
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

/** The `require` of the first place from which Node finds the package. If there is none, the `require` of this code. */
export function requireFor(name: string): NodeJS.Require {
  for (const start of packagePlaces()) {
    const found = requireFrom(start);
    if (attempt(() => found.resolve(name)) !== undefined) return found;
  }
  return requireFrom(startingPoints()[0] ?? process.execPath);
}

/** Includes the library's own folder: with a strict package manager, only the library finds its dependencies. */
function* packagePlaces(): Generator<string> {
  const starts = startingPoints();
  yield* starts;
  for (const start of starts) {
    const manifest = resolvedFrom(start, `${PACKAGE}/package.json`);
    if (manifest !== undefined) yield manifest;
  }
}

/** This code and the script that runs. Never the working directory, which may have untrusted files. */
export function startingPoints(): string[] {
  const here = ownLocation();
  const [, script] = process.argv;
  return [...(here === undefined ? [] : [here]), ...(script === undefined ? [] : [resolve(script)])];
}

/** In a CommonJS bundle, `__filename` replaces `import.meta.url`. */
function ownLocation(): string | undefined {
  const url: string | undefined = import.meta.url;
  if (url?.startsWith('file:')) return url;
  return typeof __filename === 'string' && isAbsolute(__filename) ? __filename : undefined;
}

/** `createRequire` is not imported, because webpack replaces an imported one. */
const requireFrom = (start: string): NodeJS.Require => process.getBuiltinModule('node:module').createRequire(start);

/** The path of a package's file, as Node resolves it from a file or its URL; undefined if it is not found. */
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
