import { readdir } from 'node:fs/promises';
import { NotFoundError } from '../errors.js';
import { CATALOGUE_PACKAGE, type CatalogueKind, placesOf } from './catalogue-places.js';
import { folderModels } from './folder-models.js';
import type { LoadedModel, LoadOptions, ModelLoader } from './model-loader.js';
import { parseModelName } from './model-name.js';
import { suggestion } from './suggestion.js';

/** Most existing models that a NotFoundError names. */
const MAX_NAMED = 20;

/**
 * The pretrained models of the package `orchard-nlp-models`, if it is installed; in a clone of Orchard's
 * repository, those of its own `models` folder; then those that {@link pullModel} has brought. Nothing is downloaded.
 */
export function catalogueModels(): ModelLoader {
  return catalogueIn(() => placesOf('catalogue').map(({ directory }) => directory));
}

/**
 * The encoders that training can start from, named `<language>-<size>`: those of the package
 * `orchard-nlp-models`, of the repository, or pulled, as {@link catalogueModels} finds its models.
 */
export function catalogueBackbones(): ModelLoader {
  return catalogueIn(() => placesOf('backbones').map(({ directory }) => directory), 'backbone');
}

/**
 * The models in these directories; of two with the same name that in the earlier one.
 * @param places looked up at each load, since models may be pulled meanwhile.
 * @param kind what a NotFoundError calls them.
 */
export function catalogueIn(
  places: () => readonly string[],
  kind: CatalogueKind = 'pretrained model',
): ModelLoader {
  return new CatalogueModels(places, kind);
}

interface Catalogue {
  readonly directory: string;
  /** In alphabetical order. */
  readonly models: readonly string[];
}

class CatalogueModels implements ModelLoader {
  readonly specificationVersion = 1;

  readonly #places: () => readonly string[];
  readonly #kind: CatalogueKind;

  constructor(places: () => readonly string[], kind: CatalogueKind) {
    this.#places = places;
    this.#kind = kind;
  }

  async load(name: string, options?: LoadOptions): Promise<LoadedModel> {
    parseModelName(name);
    const places = this.#places();
    for (const place of places) {
      const loaded = await folderModels(place).load(name, options).catch(unlessAbsent);
      if (loaded !== undefined) return loaded;
    }
    throw new NotFoundError(this.#kind, name, await this.#advice(name, places));
  }

  async #advice(name: string, places: readonly string[]): Promise<string> {
    const catalogues = await cataloguesIn(places);
    const pull = await this.#pullAdvice(name);
    if (pull !== undefined) return pull;
    if (catalogues.length > 0) return whatElse(name, catalogues);
    const looked = places.length === 0 ? '' : ` (looked for ${places.join(', ')})`;
    return `there is no catalogue${looked}; npm install ${CATALOGUE_PACKAGE}, or pass a modelLoader of your own`;
  }

  /** What brings a model that is published and not here. */
  async #pullAdvice(name: string): Promise<string | undefined> {
    const { publishedModels } = await import('./published-models.js');
    const published = (await publishedModels()).find((model) => model.name === name);
    if (published?.kind !== this.#kind) return undefined;
    const megabytes = (published.bytes / 1e6).toFixed(1);
    return `it is published, and not on this machine; npm install ${CATALOGUE_PACKAGE} brings all models, npx orchard models pull ${name} this one alone (${megabytes} MB)`;
  }
}

/** @throws what is another failure. */
function unlessAbsent(thrown: unknown): undefined {
  if (!(thrown instanceof NotFoundError)) throw thrown;
}

/** Those of the places that there are. */
async function cataloguesIn(places: readonly string[]): Promise<Catalogue[]> {
  const found = await Promise.all(
    places.map(async (directory) => {
      const entries = await readdir(directory, { withFileTypes: true }).catch(() => undefined);
      const models = entries?.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
      return models === undefined ? [] : [{ directory, models }];
    }),
  );
  return found.flat();
}

/** The models that exist, the one with the most similar name first. */
async function whatElse(name: string, catalogues: readonly Catalogue[]): Promise<string> {
  const models = catalogues.flatMap((catalogue) => catalogue.models);
  const described = catalogues.map(({ directory, models }) => {
    const named = models.slice(0, MAX_NAMED).join(', ');
    const more = models.length > MAX_NAMED ? ', …' : '';
    return models.length === 0 ? `${directory} holds no models` : `${directory} has ${named}${more}`;
  });
  return `${await suggestion(name, models)}${[...new Set(described)].join('; ')}`;
}
