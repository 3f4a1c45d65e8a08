export { LinearExpert } from './linear-expert.js';
export type { ClassWeights } from './svm-problem.js';
export { type LinearExpertOptions, trainLinearExpert } from './train-linear-expert.js';
