// AssemblyScript, compiled by scripts/build-kernels.mjs. All pointers are byte offsets into the imported memory, all
// counts are in elements; nothing is checked here: src/engine/kernels/kernels.ts checks every view it passes, and
// src/wasm/forward-pass.ts lays out the memory that the forward pass uses.
export { accumulate } from './accumulate';
export { adaGradRows } from './adagrad-rows';
export { adamW } from './adamw';
export { attend } from './attend';
export { dotByteRows, dotRows } from './dot-rows';
export { dropoutMask } from './dropout-mask';
export { addRows, gatherBytes, gatherFloats, gatherPacked, meanRows } from './embed-rows';
export { fill } from './fill';
export { multiplyBytes } from './multiply-bytes';
export { multiplyFloats } from './multiply-floats';
export { normalizeRows } from './normalize-rows';
export { numberHashes } from './number-hashes';
export { packBytes, packFloats } from './pack-panels';
export { quantizeRows } from './quantize-rows';
export { geluOfValues, restoreSums, restoreThroughGelu, roundValues } from './round-values';
export { scatterAddRows, zeroRows } from './scatter-rows';
export { sumOfSquares } from './sum-of-squares';
export { sumByteRows } from './sum-byte-rows';
export { sumRows } from './sum-rows';
export { svmPass } from './svm-pass';
export { countFeatures, findBags, weighFeatures } from './weigh-features';
export { widenHalves } from './widen-halves';
