export { CrfExpert } from './crf-expert.js';
export { TagLattice } from './tag-lattice.js';
export type { TagTransitions } from './tag-transitions.js';
export type { TaggedWords } from './tagged-words.js';
export { type CrfTrainingOptions, trainCrfExpert } from './train-crf-expert.js';
export { viterbi } from './viterbi.js';
