// AssemblyScript, compiled by scripts/build-kernels.mjs. All pointers are byte offsets into the imported memory, all
// counts are in elements; nothing is checked here: src/engine/kernels/kernels.ts checks every view it passes.
export { accumulate } from './accumulate';
export { adaGradRows } from './adagrad-rows';
export { adamW } from './adamw';
export { dotByteRows, dotRows } from './dot-rows';
export { dropoutMask } from './dropout-mask';
export { fill } from './fill';
export { numberHashes } from './number-hashes';
export { quantizeRows } from './quantize-rows';
export { scatterAddRows, zeroRows } from './scatter-rows';
export { sumOfSquares } from './sum-of-squares';
export { sumByteRows } from './sum-byte-rows';
export { sumRows } from './sum-rows';
export { svmPass } from './svm-pass';
export { countFeatures, findBags, weighFeatures } from './weigh-features';
export { widenHalves } from './widen-halves';
