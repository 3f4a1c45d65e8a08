export { type BertConfig, bertConfigOfSize, parseBertConfig } from './bert-config.js';
export { bertEncoder, type Dropout } from './bert-encoder.js';
export { bertParameters, layerNormParameters, poolerParameters } from './bert-parameters.js';
export {
  bertName,
  type CheckpointConfig,
  type CheckpointWeights,
  checkpointWeights,
  parseCheckpointConfig,
} from './checkpoint.js';
export {
  type EncoderInputs,
  exportedInputs,
  type GraphForm,
  PADDING_BIAS,
  trainingInputs,
} from './encoder-inputs.js';
export { initialize, linearParameters, type ParameterSpec } from './parameter.js';
export { type Pooling, pooledStates } from './pooling.js';
