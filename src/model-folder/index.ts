export * from './files.js';
export { type ModelFolderConfig, modelFolderConfigSchema } from './model-config.js';
export {
  type ModelFolder,
  type OpenedModelFolder,
  openModelFolder,
  writeModelFolder,
} from './model-folder.js';
export {
  decodeSafetensors,
  encodeSafetensors,
  type IntegerTensor,
  type NamedTensor,
  type Safetensors,
} from './safetensors.js';
