export { VectorIndex } from './vector-index.js';
