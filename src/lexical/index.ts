export { Bm25Index, encodeBm25, searchWords } from './bm25.js';
export { CrfExpert, encodeCrfExpert } from './crf/crf-expert.js';
export { LogMatrix, TagLattice, type TagTransitions, viterbi } from './crf/tag-lattice.js';
export { type CrfTrainingOptions, crfExpertBytes, type TaggedWords, trainCrfExpert } from './crf/train-crf-expert.js';
export { largestIds } from './hash-table.js';
export { encodeLinearExpert, LinearExpert } from './linear-expert.js';
export { countTexts, isUnspaced, NGramHasher, type NGramOptions } from './tf-idf.js';
export { type ClassWeights, type ExpertTarget, linearExpertBytes, trainLinearExpert } from './train-linear-expert.js';
