export { catalogueBackbones, catalogueModels } from './catalogue-models.js';
export { folderModels } from './folder-models.js';
export { hubModels } from './hub-models.js';
export type { HubOptions } from './hub-settings.js';
export type { LoadedModel, LoadOptions, ModelLoader, ModelProgress } from './model-loader.js';
export { type CreateModelLoader, type ModelFiles, modelLoaderContract } from './model-loader-contract.js';
