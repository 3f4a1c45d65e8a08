/** `orchard-nlp/testing`: the contracts of the interfaces that an application can implement itself. */
export type { ContractCase } from './contract-case.js';
export { graphExecutorContract } from './graph/index.js';
export { type CreateJobQueueMedium, type JobQueueMedium, jobQueueContract } from './jobs/index.js';
export { type CreateModelLoader, type ModelFiles, modelLoaderContract } from './model-loader/index.js';
export { type CreateStorage, storageContract } from './storage/index.js';
