export { decodeWeights, encodeByteRows } from './byte-rows.js';
export { roundedToFloat16 } from './float16.js';
export {
  type DecodingOptions,
  decodeSafetensors,
  encodeSafetensors,
  type IntegerTensor,
  type NamedTensor,
  type Safetensors,
  safetensorsPieces,
} from './safetensors.js';
