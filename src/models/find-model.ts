import { basename, isAbsolute, resolve } from 'node:path';
import { isOrchardError, NotFoundError } from '../contract/index.js';
import { catalogueBackbones, catalogueModels } from './catalogue-models.js';
import { hubModels } from './hub-models.js';
import { isDirectory, type ModelLoader } from './model-loader.js';

export interface FoundModel {
  /** As given, or the last part of its folder's path. */
  readonly name: string;
  /** Absolute. */
  readonly directory: string;
}

interface PlaceOptions {
  /** Default: the catalogue and, for `owner/name`, the Hub. */
  readonly modelLoader?: ModelLoader | undefined;
  /** Look for a backbone if there is no such model. Default false. */
  readonly backbones?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** @param model a folder's path, or a name that the loader knows. @throws NotFoundError that lists what exists */
export async function findModel(model: string, options: PlaceOptions = {}): Promise<FoundModel> {
  const directory = resolve(model);
  if (await isDirectory(directory)) return { name: basename(directory), directory };
  if (isPath(model)) {
    throw new NotFoundError('pretrained model', model, `there is no folder ${directory}`);
  }
  const { modelLoader, signal } = options;
  if (modelLoader !== undefined) return { name: model, ...(await modelLoader.load(model, { signal })) };
  if (model.includes('/')) return { name: model, ...(await hubModels().load(model, { signal })) };
  const found = catalogueModels().load(model, { signal });
  const { directory: catalogued } = await (options.backbones
    ? found.catch((thrown: unknown) => backboneOr(model, thrown, signal))
    : found);
  return { name: model, directory: catalogued };
}

/** @throws the catalogue's error if there is none */
async function backboneOr(name: string, thrown: unknown, signal: AbortSignal | undefined) {
  if (!isNotFound(thrown)) throw thrown;
  return catalogueBackbones()
    .load(name, { signal })
    .catch((second: unknown) => {
      throw isNotFound(second) ? thrown : second;
    });
}

function isNotFound(thrown: unknown): boolean {
  return isOrchardError(thrown) && thrown.code === 'not_found';
}

/** Whether it can't be a name. */
function isPath(model: string): boolean {
  return isAbsolute(model) || /^\.{1,2}(?:[/\\]|$)|\\|^[a-z]:|(?:\/.*){2}/i.test(model);
}
