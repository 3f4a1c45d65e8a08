/** Where models of the catalogue may lie on this machine. */
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { NotFoundError } from '../errors.js';
import { MODELS_VERSION } from '../models-manifest.js';
import { resolvedFrom, startingPoints } from '../own-files.js';

export const CATALOGUE_PACKAGE = 'orchard-nlp-models';
/** The folders of that package: pretrained models, and encoders that training can start from. */
export type CatalogueFolder = 'catalogue' | 'backbones';
/** What a NotFoundError calls what lies in each. */
export type CatalogueKind = Extract<NotFoundError['resource'], 'pretrained model' | 'backbone'>;

/** Environment variable: where pulled models are kept. */
const VARIABLE = 'ORCHARD_MODELS_DIRECTORY';

/** A folder that may hold models, one sub-folder each. */
export interface CataloguePlace {
  readonly directory: string;
  /** `package`: of an installed package or of a clone's `models/`; `pulled`: where `pullModel` puts them. */
  readonly source: 'package' | 'pulled';
}

/** In order of preference. */
export function placesOf(folder: CatalogueFolder): readonly CataloguePlace[] {
  const installed = installedPlaces(folder).map((directory) => ({ directory, source: 'package' as const }));
  const pulled = pulledModels();
  if (pulled === undefined) return installed;
  return [...installed, { directory: join(pulled, folder), source: 'pulled' }];
}

/** A bundle may not know where its code lies, or lie where no package is found. */
function installedPlaces(folder: CatalogueFolder): readonly string[] {
  for (const start of startingPoints()) {
    const places = cataloguePlaces(start, folder);
    if (places.length > 0) return places;
  }
  return [];
}

/**
 * Where the catalogue of a copy of this library may lie, in order of preference.
 * @param library URL of any file of that copy.
 */
export function cataloguePlaces(library: string | URL, folder: CatalogueFolder): string[] {
  const installed = packageDirectory(CATALOGUE_PACKAGE, library);
  const own = packageDirectory('orchard-nlp', library);
  return [
    ...(installed === undefined ? [] : [join(installed, folder)]),
    ...(own === undefined ? [] : [join(own, 'models', folder)]),
  ];
}

/** @returns undefined if the package can't be found from there, as in a bundle. */
function packageDirectory(name: string, from: string | URL): string | undefined {
  const manifest = resolvedFrom(String(from), `${name}/package.json`);
  return manifest === undefined ? undefined : dirname(manifest);
}

/**
 * The folder of pulled models of the version that this library knows. Below `directory`, or else
 * ORCHARD_MODELS_DIRECTORY, or else `orchard-nlp/models` in XDG_CACHE_HOME or ~/.cache.
 * @returns undefined where none of them is given and the user has no home.
 */
export function pulledModels(directory?: string): string | undefined {
  const { [VARIABLE]: named, XDG_CACHE_HOME: cache } = process.env;
  const given = directory ?? (named?.trim() || undefined);
  if (given !== undefined) return join(resolve(given), MODELS_VERSION);
  const caches = cache?.trim() || homeCache();
  return caches === undefined ? undefined : join(resolve(caches), 'orchard-nlp', 'models', MODELS_VERSION);
}

/** A user that a container makes up may have no home. */
function homeCache(): string | undefined {
  try {
    return join(homedir(), '.cache');
  } catch {
    return undefined;
  }
}
