import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { NotFoundError, type UsageTerms, ValidationError } from '../contract/index.js';
import {
  absolutePath,
  beginsAtHome,
  fromHome,
  HOME_HINT,
  MODELS_VERSION,
  readManifest,
  resolvedFrom,
  startingPoints,
} from '../system/index.js';
import { hubModels, neededFromHub } from './hub-models.js';
import {
  folderModels,
  isDirectory,
  type LoadOptions,
  listed,
  type ModelLoader,
  parseModelName,
} from './model-loader.js';

const CATALOGUE_PACKAGE = 'orchard-nlp-models';
/** Pretrained models, and encoders that training can start from. */
export type CatalogueFolder = 'catalogue' | 'backbones';
/** What a published model is. */
export type CatalogueKind = Extract<NotFoundError['resource'], 'pretrained model' | 'backbone'>;

/** Environment variable: where pulled models are kept. */
const VARIABLE = 'ORCHARD_MODELS_DIRECTORY';

/**
 * Loads the pretrained models of the package `orchard-nlp-models` if it is installed, or of the folder `models` in a clone of
 * Orchard's repository, and models from `pullModel`. Downloads nothing.
 */
export function catalogueModels(): ModelLoader {
  return catalogueIn(() => directoriesOf('catalogue'));
}

/**
 * Loads the encoders that training can start from, named `<language>-<size>`. They are found in the same places as the
 * models of {@link catalogueModels}.
 */
export function catalogueBackbones(): ModelLoader {
  return catalogueIn(() => directoriesOf('backbones'), ['backbone']);
}

/** Both; models count first. */
function modelsOrBackbones(): ModelLoader {
  return catalogueIn(
    () => [...directoriesOf('catalogue'), ...directoriesOf('backbones')],
    ['pretrained model', 'backbone'],
  );
}

const directoriesOf = (folder: CatalogueFolder) => placesOf(folder).map(({ directory }) => directory);

/**
 * The first directory with a model counts.
 * @param places called for each load, since models can be pulled.
 * @param kinds what the directories hold; messages call a missing model the first one.
 */
export function catalogueIn(
  places: () => readonly string[],
  kinds: readonly [CatalogueKind, ...CatalogueKind[]] = ['pretrained model'],
): ModelLoader {
  return {
    specificationVersion: 1,
    load: async (name, options) => {
      parseModelName(name);
      const directories = places();
      for (const directory of directories) {
        const loaded = await folderModels(directory).load(name, options).catch(ifNotFound);
        if (loaded !== undefined) return loaded;
      }
      throw new NotFoundError(kinds[0], name, await adviceFor(name, kinds, directories));
    },
  };
}

/** @throws any other error */
function ifNotFound(thrown: unknown): undefined {
  if (!(thrown instanceof NotFoundError)) throw thrown;
}

/** What brings one model to this machine. */
export const pullCommand = (name: string): string => `npx orchard models pull ${name} --from <folder or URL>`;

/** How to get it, or which ones exist. */
async function adviceFor(name: string, kinds: readonly CatalogueKind[], places: readonly string[]): Promise<string> {
  const published = (await publishedModels()).find((model) => model.name === name);
  if (published && kinds.includes(published.kind)) {
    const megabytes = (published.bytes / 1e6).toFixed(1);
    return `it is not installed; npm install ${CATALOGUE_PACKAGE} installs all models, and ${pullCommand(name)} gets it alone (${megabytes} MB) from a copy of that package`;
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
    return `no models are installed${looked}; run npm install ${CATALOGUE_PACKAGE} (or pass your own \`modelLoader\`)`;
  }
  const described = catalogues.map(({ directory, models }) =>
    models.length === 0 ? `${directory} holds no models` : `${directory} has ${listed(models, MAX_NAMED)}`,
  );
  const names = catalogues.flatMap(({ models }) => models);
  return `${await suggestion(name, names)}${[...new Set(described)].join('; ')}`;
}

const MAX_NAMED = 20;
/** How much of a name may be mistyped. */
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
  let installed: readonly string[] = [];
  // In a bundle, the code may not know its own location, or be where no package is found.
  for (const start of startingPoints()) {
    installed = cataloguePlaces(start, folder);
    if (installed.length > 0) break;
  }
  const places = installed.map((directory) => ({ directory, source: 'package' as const }));
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
  const given = directory ?? ofVariable(named);
  if (given !== undefined) return join(resolve(given), MODELS_VERSION);
  const caches = ofVariable(cache) ?? ofVariable('~/.cache');
  return caches === undefined ? undefined : join(resolve(caches), 'orchard-nlp', 'models', MODELS_VERSION);
}

/** Undefined, too, for a folder of the home of a user without one, as there is in containers. */
function ofVariable(value = ''): string | undefined {
  try {
    return fromHome(value.trim()) || undefined;
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
  /** The package's folder that has the model. */
  readonly folder: CatalogueFolder;
  /** The package's version. A newer one may have other files under the same name. */
  readonly version: string;
  readonly files: readonly PublishedFile[];
  /** All files together. */
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
  if (typeof name !== 'string')
    throw new ValidationError([{ loc: ['name'], msg: 'give the name of a model', type: 'invalid_type' }]);
  const models = await publishedModels();
  const found = models.find((model) => model.name === name);
  if (found !== undefined) return found;
  const names = models.map((model) => model.name);
  const advice = `${await suggestion(name, names)}the published models are ${names.join(', ')}`;
  throw new NotFoundError('pretrained model', name, advice);
}

export interface FoundModel {
  /** The given name, or the last part of its folder's path. */
  readonly name: string;
  /** Absolute. */
  readonly directory: string;
}

interface PlaceOptions {
  /** Default: the catalogue and, for `owner/name`, the Hub. */
  readonly modelLoader?: ModelLoader | undefined;
  /** Look for a backbone if there is no such model. Default false. */
  readonly backbones?: boolean;
  /** As in {@link LoadOptions}. Default: all files. */
  readonly files?: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** @param model a folder's path, or a name that the loader knows. @throws NotFoundError that lists what exists */
export async function findModel(model: string, options: PlaceOptions = {}): Promise<FoundModel> {
  const directory = absolutePath(model);
  if (await isDirectory(directory)) return { name: basename(directory), directory };
  if (isPath(model)) {
    const reason = beginsAtHome(model) ? HOME_HINT : `there is no folder ${directory}`;
    throw new NotFoundError('pretrained model', model, reason);
  }
  const { modelLoader, backbones = false, ...loading } = options;
  if (modelLoader !== undefined) return { name: model, ...(await modelLoader.load(model, loading)) };
  if (model.includes('/')) {
    const load = loading.files === undefined ? neededFromHub : hubModels().load;
    return { name: model, ...(await load(model, loading)) };
  }
  const loader = backbones ? modelsOrBackbones() : catalogueModels();
  return { name: model, directory: (await loader.load(model, loading)).directory };
}

/** A model as of the call: an absolute path if there is such a folder now, else the name. */
export function modelAsOfNow(model: string): string {
  const directory = absolutePath(model);
  const isFolder = () => statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true;
  return isPath(model) || isFolder() ? directory : model;
}

/** Whether it can't be a name. */
function isPath(model: string): boolean {
  return (
    isAbsolute(model) ||
    beginsAtHome(model) ||
    /^file:/i.test(model) ||
    /^\.{1,2}(?:[/\\]|$)|\\|^[a-z]:|(?:\/.*){2}/i.test(model)
  );
}
