import { readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { NotFoundError } from '../errors.js';
import { folderModels } from './folder-models.js';
import type { LoadedModel, LoadOptions, ModelLoader } from './model-loader.js';
import { parseModelName } from './model-name.js';

const CATALOGUE_PACKAGE = 'orchard-nlp-models';
type PackageFolder = 'catalogue' | 'backbones';
type Kind = Extract<NotFoundError['resource'], 'pretrained model' | 'backbone'>;
/** Most existing models that a NotFoundError names. */
const MAX_NAMED = 20;
/** Share of a name's characters that may be mistyped for the right name to be suggested. */
const MISTYPED_SHARE = 1 / 3;

/**
 * The pretrained models of the package `orchard-nlp-models`, if it is installed; in a clone of Orchard's
 * repository, those of its own `models` folder. Nothing is downloaded.
 */
export function catalogueModels(): ModelLoader {
  return catalogueIn(cataloguePlaces(import.meta.url, 'catalogue'));
}

/**
 * The encoders that training can start from, named `<language>-<size>`: those of the package
 * `orchard-nlp-models`, or of the repository, as {@link catalogueModels} finds its models.
 */
export function catalogueBackbones(): ModelLoader {
  return catalogueIn(cataloguePlaces(import.meta.url, 'backbones'), 'backbone');
}

/**
 * Where the catalogue of a copy of this library may lie, in order of preference.
 * @param library URL of any file of that copy.
 */
export function cataloguePlaces(library: string | URL, folder: PackageFolder): string[] {
  const installed = packageDirectory(CATALOGUE_PACKAGE, library);
  const own = packageDirectory('orchard-nlp', library);
  return [
    ...(installed === undefined ? [] : [join(installed, folder)]),
    ...(own === undefined ? [] : [join(own, 'models', folder)]),
  ];
}

/**
 * The models in the first of these directories that exists.
 * @param kind what a NotFoundError calls them.
 */
export function catalogueIn(places: readonly string[], kind: Kind = 'pretrained model'): ModelLoader {
  return new CatalogueModels(places, kind);
}

/** @returns undefined if the package can't be found from there, as in a bundle. */
function packageDirectory(name: string, from: string | URL): string | undefined {
  try {
    return dirname(createRequire(from).resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

interface Catalogue {
  readonly directory: string;
  /** In alphabetical order. */
  readonly models: readonly string[];
}

class CatalogueModels implements ModelLoader {
  readonly specificationVersion = 1;

  readonly #places: readonly string[];
  readonly #kind: Kind;

  constructor(places: readonly string[], kind: Kind) {
    this.#places = places;
    this.#kind = kind;
  }

  async load(name: string, options?: LoadOptions): Promise<LoadedModel> {
    parseModelName(name);
    const catalogue = await this.#find();
    if (catalogue === undefined) throw new NotFoundError(this.#kind, name, this.#lacking());
    return folderModels(catalogue.directory)
      .load(name, options)
      .catch(async (thrown: unknown) => {
        if (!(thrown instanceof NotFoundError)) throw thrown;
        throw new NotFoundError(this.#kind, name, await whatElse(name, catalogue));
      });
  }

  async #find(): Promise<Catalogue | undefined> {
    for (const directory of this.#places) {
      const entries = await readdir(directory, { withFileTypes: true }).catch(() => undefined);
      if (entries === undefined) continue;
      const models = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
      return { directory, models };
    }
    return undefined;
  }

  #lacking(): string {
    const looked = this.#places.length === 0 ? '' : ` (looked for ${this.#places.join(', ')})`;
    return `there is no catalogue${looked}; npm install ${CATALOGUE_PACKAGE}, or pass a modelLoader of your own`;
  }
}

/** The models that exist, the one with the most similar name first. */
async function whatElse(name: string, { directory, models }: Catalogue): Promise<string> {
  if (models.length === 0) return `${directory} holds no models`;
  const { closestMatch } = await import('leven');
  const closest = closestMatch(name, models, { maxDistance: Math.ceil(name.length * MISTYPED_SHARE) });
  const suggestion = closest === undefined ? '' : `did you mean ${JSON.stringify(closest)}? `;
  const named = models.slice(0, MAX_NAMED).join(', ');
  return `${suggestion}${directory} has ${named}${models.length > MAX_NAMED ? ', …' : ''}`;
}
