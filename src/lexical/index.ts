export { Bm25Index, type Bm25Options } from './bm25.js';
export * from './crf/index.js';
export { LinearExpert } from './linear-expert.js';
export type { ClassWeights } from './svm-problem.js';
export { type LinearExpertOptions, linearExpertBytes, trainLinearExpert } from './train-linear-expert.js';
