import { type ClassNames, familyOfModel } from '../families/index.js';
import { CONFIG_FILE, type ModelFolderConfig } from '../model-folder/index.js';

/** The classes that a model tells apart. @throws ModelFolderError if its family isn't known here. */
export function classNames(config: ModelFolderConfig): ClassNames {
  return familyOfModel(config, CONFIG_FILE).classNames(config);
}
