/** What the package `orchard-nlp-models` publishes, file by file, as this version of the library knows it. */
import { NotFoundError } from '../errors.js';
import { readManifest } from '../models-manifest.js';
import type { UsageTerms } from '../usage-terms.js';
import type { CatalogueFolder, CatalogueKind } from './catalogue-places.js';
import { suggestion } from './suggestion.js';

/** One file of a published model. */
export interface PublishedFile {
  /** Below the model's folder, with '/'. */
  readonly path: string;
  readonly bytes: number;
  /** In lower-case hexadecimal. */
  readonly sha256: string;
}

/** One published model or backbone. */
export interface PublishedModel {
  readonly name: string;
  readonly kind: CatalogueKind;
  /** Its folder's folder. */
  readonly folder: CatalogueFolder;
  /** Of the package; a newer one may hold other bytes under the same name. */
  readonly version: string;
  readonly files: readonly PublishedFile[];
  /** Of all files together. */
  readonly bytes: number;
  /** What its data allow. Absent: nothing in them stands in the way of any use. */
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

/** @throws NotFoundError that names what is published. */
export async function publishedModel(name: string): Promise<PublishedModel> {
  const models = await publishedModels();
  const found = models.find((model) => model.name === name);
  if (found !== undefined) return found;
  const names = models.map((model) => model.name);
  const there = `published are ${names.join(', ')}`;
  throw new NotFoundError('pretrained model', name, `${await suggestion(name, names)}${there}`);
}
