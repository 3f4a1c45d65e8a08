export { type Activation, activate, activationField } from './activation.js';
export * from './config-fields.js';
export { type Embeddings, embed, embeddingParameters } from './embeddings.js';
export { feedForward } from './feed-forward.js';
export { innerHead, plainHead, robertaHead } from './heads.js';
export {
  bertLayerNames,
  type LayerNames,
  postNormLayer,
  postNormLayerParameters,
} from './post-norm-layer.js';
export { selfAttention } from './self-attention.js';
export { type Stack, stack, stackParameters } from './stack.js';
