export { type CatalogueKind, catalogueBackbones, catalogueModels } from './catalogue-models.js';
export { folderModels } from './folder-models.js';
export { type HubOptions, hubModels } from './hub-models.js';
export type { LoadedModel, LoadOptions, ModelLoader, ModelProgress } from './model-loader.js';
export { type CreateModelLoader, type ModelFiles, modelLoaderContract } from './model-loader-contract.js';
export {
  type FileProblem,
  type ListedModel,
  listModels,
  type PulledModel,
  type PulledPlace,
  type PullOptions,
  pullModel,
  type VerifiedModel,
  verifyModel,
} from './pull-model.js';
