export { catalogueBackbones, catalogueModels } from './catalogue-models.js';
export type { CatalogueKind } from './catalogue-places.js';
export { folderModels } from './folder-models.js';
export { hubModels } from './hub-models.js';
export type { HubOptions } from './hub-settings.js';
export type { LoadedModel, LoadOptions, ModelLoader, ModelProgress } from './model-loader.js';
export { type CreateModelLoader, type ModelFiles, modelLoaderContract } from './model-loader-contract.js';
export {
  type ListedModel,
  listModels,
  type PulledModel,
  type PulledPlace,
  type PullOptions,
  pullModel,
  type VerifiedModel,
  verifyModel,
} from './published-calls.js';
export type { FileProblem } from './verify-files.js';
