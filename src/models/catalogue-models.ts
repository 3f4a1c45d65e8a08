import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { NotFoundError, type UsageTerms } from '../contract/index.js';
import { MODELS_VERSION, readManifest, resolvedFrom, startingPoints } from '../system/index.js';
import { folderModels, listed, type ModelLoader, parseModelName } from './model-loader.js';

const CATALOGUE_PACKAGE = 'orchard-nlp-models';
/** Pretrained models, and encoders that training can start from. */
export type CatalogueFolder = 'catalogue' | 'backbones';
/** In messages. */
export type CatalogueKind = Extract<NotFoundError['resource'], 'pretrained model' | 'backbone'>;

/** Environment variable: where pulled models are kept. */
const VARIABLE = 'ORCHARD_MODELS_DIRECTORY';

/**
 * Loads the pretrained models of the package `orchard-nlp-models` if it is installed, or of the folder `models` in a clone of
 * Orchard's repository, and models from {@link pullModel}. Downloads nothing.
 */
export function catalogueModels(): ModelLoader {
  return catalogueIn(() => placesOf('catalogue').map(({ directory }) => directory));
}

/**
 * Loads the encoders that training can start from, named `<language>-<size>`. They are found in the same places as the
 * models of {@link catalogueModels}.
 */
export function catalogueBackbones(): ModelLoader {
  return catalogueIn(() => placesOf('backbones').map(({ directory }) => directory), 'backbone');
}

/** The first directory with a model counts. @param places called for each load, since models can be pulled. */
export function catalogueIn(places: () => readonly string[], kind: CatalogueKind = 'pretrained model'): ModelLoader {
  return {
    specificationVersion: 1,
    load: async (name, options) => {
      parseModelName(name);
      const directories = places();
      for (const directory of directories) {
        const loaded = await folderModels(directory).load(name, options).catch(ifNotFound);
        if (loaded !== undefined) return loaded;
      }
      throw new NotFoundError(kind, name, await adviceFor(name, kind, directories));
    },
  };
}

/** @throws any other error */
function ifNotFound(thrown: unknown): undefined {
  if (!(thrown instanceof NotFoundError)) throw thrown;
}

/** How to get it, or which ones exist. */
async function adviceFor(name: string, kind: CatalogueKind, places: readonly string[]): Promise<string> {
  const published = (await publishedModels()).find((model) => model.name === name);
  if (published?.kind === kind) {
    const megabytes = (published.bytes / 1e6).toFixed(1);
    return `it is published, but not on this machine; npm install ${CATALOGUE_PACKAGE} installs all models, npx orchard models pull ${name} only this one (${megabytes} MB)`;
  }
  const found = await Promise.all(
    places.map(async (directory) => {
      const entries = await readdir(directory, { withFileTypes: true }).catch(() => undefined);
      const models = entries?.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
      return models === undefined ? [] : [{ directory, models }];
    }),
  );
  const catalogues = found.flat();
  if (catalogues.length === 0) {
    const looked = places.length === 0 ? '' : ` (looked for ${places.join(', ')})`;
    return `there is no catalogue${looked}; npm install ${CATALOGUE_PACKAGE}, or pass your own modelLoader`;
  }
  const described = catalogues.map(({ directory, models }) =>
    models.length === 0 ? `${directory} holds no models` : `${directory} has ${listed(models, MAX_NAMED)}`,
  );
  const names = catalogues.flatMap(({ models }) => models);
  return `${await suggestion(name, names)}${[...new Set(described)].join('; ')}`;
}

const MAX_NAMED = 20;
/** Of a name's characters that may be mistyped. */
const MISTYPED_SHARE = 1 / 3;

/** Empty if no name is similar. */
async function suggestion(name: string, names: readonly string[]): Promise<string> {
  const { closestMatch } = await import('leven');
  const closest = closestMatch(name, names, { maxDistance: Math.ceil(name.length * MISTYPED_SHARE) });
  return closest === undefined ? '' : `did you mean ${JSON.stringify(closest)}? `;
}

/** A folder that can hold models, one sub-folder each. */
export interface CataloguePlace {
  readonly directory: string;
  /** `package`: in an installed package, or in a clone's `models/`; `pulled`: where `pullModel` puts models. */
  readonly source: 'package' | 'pulled';
}

/** In order of preference. */
export function placesOf(folder: CatalogueFolder): readonly CataloguePlace[] {
  // In a bundle, the code may not know its own location, or be where no package is found.
  const installed = startingPoints()
    .map((start) => cataloguePlaces(start, folder))
    .find((places) => places.length > 0);
  const places = (installed ?? []).map((directory) => ({ directory, source: 'package' as const }));
  const pulled = pulledModels();
  return pulled === undefined ? places : [...places, { directory: join(pulled, folder), source: 'pulled' }];
}

/** In order of preference. @param library the URL of any file of a copy of this library. */
export function cataloguePlaces(library: string | URL, folder: CatalogueFolder): string[] {
  const installed = packageDirectory(CATALOGUE_PACKAGE, library);
  const own = packageDirectory('orchard-nlp', library);
  return [
    ...(installed === undefined ? [] : [join(installed, folder)]),
    ...(own === undefined ? [] : [join(own, 'models', folder)]),
  ];
}

/** Undefined in a bundle, say. */
function packageDirectory(name: string, from: string | URL): string | undefined {
  const manifest = resolvedFrom(String(from), `${name}/package.json`);
  return manifest === undefined ? undefined : dirname(manifest);
}

/** Undefined without a home. Default: in ORCHARD_MODELS_DIRECTORY, XDG_CACHE_HOME or ~/.cache. */
export function pulledModels(directory?: string): string | undefined {
  const { [VARIABLE]: named, XDG_CACHE_HOME: cache } = process.env;
  const given = directory ?? (named?.trim() || undefined);
  if (given !== undefined) return join(resolve(given), MODELS_VERSION);
  const caches = cache?.trim() || homeCache();
  return caches === undefined ? undefined : join(resolve(caches), 'orchard-nlp', 'models', MODELS_VERSION);
}

/** In a container, the user may have no home. */
function homeCache(): string | undefined {
  try {
    return join(homedir(), '.cache');
  } catch {
    return undefined;
  }
}

export interface PublishedFile {
  /** In the model's folder, with '/'. */
  readonly path: string;
  readonly bytes: number;
  /** In lower-case hexadecimal. */
  readonly sha256: string;
}

export interface PublishedModel {
  readonly name: string;
  readonly kind: CatalogueKind;
  /** Of the package. */
  readonly folder: CatalogueFolder;
  /** Of the package. A newer version may have other files under the same name. */
  readonly version: string;
  readonly files: readonly PublishedFile[];
  /** Of all files. */
  readonly bytes: number;
  /** What the training data allow. Absent: any use. */
  readonly licence?: UsageTerms;
}

/** Models before backbones, each in alphabetical order. */
export async function publishedModels(): Promise<readonly PublishedModel[]> {
  const { version, catalogue, backbones, licences } = await readManifest();
  const terms = new Map<string, UsageTerms>(Object.entries(licences));
  const described =
    (kind: CatalogueKind, folder: CatalogueFolder) =>
    ([name, files]: [string, readonly PublishedFile[]]): PublishedModel => {
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
      const licence = terms.get(name);
      return { name, kind, folder, version, files, bytes, ...(licence && { licence }) };
    };
  return [
    ...Object.entries(catalogue).map(described('pretrained model', 'catalogue')),
    ...Object.entries(backbones).map(described('backbone', 'backbones')),
  ];
}

/** @throws NotFoundError that lists what is published */
export async function publishedModel(name: string): Promise<PublishedModel> {
  const models = await publishedModels();
  const found = models.find((model) => model.name === name);
  if (found !== undefined) return found;
  const names = models.map((model) => model.name);
  const advice = `${await suggestion(name, names)}published are ${names.join(', ')}`;
  throw new NotFoundError('pretrained model', name, advice);
}
