import { entityTypes } from '../families/index.js';
import type { ModelFolderConfig } from '../model-folder/index.js';

/** What a model tells apart. */
export interface ClassNames {
  /** What one of them is called. */
  readonly noun: 'label' | 'entity type';
  readonly names: readonly string[];
}

/** The labels; of a model that labels words, the types of entities that its BIO tags are made of. */
export function classNames({ orchard }: ModelFolderConfig): ClassNames {
  return orchard.words === undefined
    ? { noun: 'label', names: orchard.labels }
    : { noun: 'entity type', names: entityTypes(orchard.labels) };
}
