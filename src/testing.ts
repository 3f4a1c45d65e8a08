/** `orchard-nlp/testing`: the contracts of the interfaces that an application can implement itself. */
export type { ContractCase } from '../testing/contract-case.js';
export { graphExecutorContract } from '../testing/executor-contract.js';
export { type CreateJobQueueMedium, type JobQueueMedium, jobQueueContract } from '../testing/job-queue-contract.js';
export { type CreateModelLoader, type ModelFiles, modelLoaderContract } from '../testing/model-loader-contract.js';
export { type CreateStorage, storageContract } from '../testing/storage-contract.js';
