export { type Activation, activate, activationField } from './activation.js';
export * from './config-fields.js';
export {
  type DistanceRows,
  disentangledAttention,
  distanceRows,
  type PositionTerm,
} from './disentangled-attention.js';
export { type Embeddings, embed, embeddingParameters } from './embeddings.js';
export { gatedFeedForward } from './gated-feed-forward.js';
export { innerHead, plainHead, robertaHead } from './heads.js';
export {
  afterAttention,
  bertLayerNames,
  type LayerNames,
  postNormLayer,
  postNormLayerParameters,
} from './post-norm-layer.js';
export { type RelativePositions, rowOfDistance, spanOf } from './relative-positions.js';
export { type Rotation, rotaryAttention, rotation, windowBias } from './rotary-attention.js';
export { type Stack, stack, stackParameters } from './stack.js';
