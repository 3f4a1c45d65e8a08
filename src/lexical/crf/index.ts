export { CrfExpert } from './crf-expert.js';
export type { TaggedWords } from './for-each-sentence.js';
export { LogMatrix } from './log-matrix.js';
export { TagLattice, type TagTransitions } from './tag-lattice.js';
export { type CrfTrainingOptions, crfExpertBytes, trainCrfExpert } from './train-crf-expert.js';
export { viterbi } from './viterbi.js';
