export { decodeWeights, encodeByteRows } from './byte-rows.js';
export { roundedToFloat16 } from './float16.js';
export {
  decodeSafetensors,
  encodeSafetensors,
  type IntegerTensor,
  type NamedTensor,
  type Safetensors,
} from './safetensors.js';
