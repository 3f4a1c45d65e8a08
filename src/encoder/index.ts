export { bareName, type CheckpointWeights, checkpointWeights } from './checkpoint.js';
export type { Encoder, EncoderHead, EncoderTraits, JsonObject, StatesOptions } from './encoder.js';
export { type Pooling, pooledStates } from './encoder.js';
export type { LinearAdapter, LinearLayer } from './encoder-builder.js';
export { type Dropout, NO_DROPOUT } from './encoder-builder.js';
export {
  type EncoderInputs,
  exportedInputs,
  type GraphForm,
  PADDING_BIAS,
  trainingInputs,
} from './encoder-inputs.js';
export {
  type EncoderPart,
  initialize,
  type LinearRole,
  layerNormParameters,
  linearParameters,
  type ParameterRole,
  type ParameterSpec,
} from './parameter.js';
export { type Geometry, modelTypes, newBert, newEncoder, readEncoder } from './read-encoder.js';
