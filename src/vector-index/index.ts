export { quantizeVector } from './quantize.js';
export { VectorIndex } from './vector-index.js';
