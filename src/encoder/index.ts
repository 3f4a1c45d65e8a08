export {
  type Encoder,
  type EncoderHead,
  type EncoderTraits,
  type JsonObject,
  type Pooling,
  pooledStates,
  tokenStates,
} from './encoder.js';
export {
  type Dropout,
  type EncoderInputs,
  exportedInputs,
  type GraphForm,
  type LinearAdapter,
  NO_DROPOUT,
  PADDING_BIAS,
  trainingInputs,
} from './encoder-builder.js';
export {
  initialize,
  type LinearRole,
  layerNormParameters,
  linearParameters,
  type ParameterRole,
  type ParameterSpec,
} from './parameter.js';
export {
  bareName,
  type CheckpointWeights,
  checkpointWeights,
  encoderTypes,
  type Geometry,
  headWeights,
  newBert,
  newEncoder,
  readEncoder,
} from './read-encoder.js';
