export { type AdaptiveThreadsOptions, adaptiveThreads } from './adaptive-threads.js';
export { checkFeeds, checkOutputs, type Sizes } from './check-tensors.js';
export type {
  CompiledGraph,
  CompileOptions,
  GraphExecutor,
  LoadedGraph,
  OnnxExecutor,
  TensorData,
  TensorDescription,
} from './executor.js';
export { graphExecutorContract } from './executor-contract/executor-contract.js';
export { fedTensors } from './fed-tensors.js';
export { addGradients, type ParameterGradient } from './gradients.js';
export { Graph } from './graph.js';
export type { Node, NodeOf } from './node.js';
export { nodesFor } from './node-order.js';
export { cpuExecutor } from './onnx/cpu-executor.js';
export {
  type DeviceInformation,
  deviceInformation,
  listDevices,
  promisingDevices,
  WORTH_A_DEVICE,
} from './onnx/devices.js';
export { type OnnxExecutorOptions, onnxExecutor } from './onnx/onnx-executor.js';
export { restoredWeights } from './onnx/restored-weights.js';
export { onnxPieces, toOnnx } from './onnx/to-onnx.js';
export type {
  BatchMatMulAttributes,
  Binary,
  GemmAttributes,
  NoAttributes,
  OperationName,
  RowGradient,
  Several,
  Signatures,
  SliceAttributes,
  Ternary,
  Unary,
} from './operations/index.js';
export { linearInputs, type Quantization, type Range, type TableBits } from './quantization.js';
export type {
  Feed,
  ResidentCompileOptions,
  ResidentGraph,
  ResidentMemory,
  ResidentTensor,
} from './resident.js';
export { residentOnBuffers } from './resident-on-buffers.js';
export { type Dimension, mergeDimensions, resolveShape, type Shape, ShapeError, volume } from './shape.js';
export { readStoredWeight, type StoredWeights } from './stored-weights.js';
export type { ElementType, Tensor, TensorSource } from './tensor.js';
export type { TensorFlow, TensorFlowClasses, TensorFlowTensor } from './tensorflow/tensorflow.js';
export { tensorflowExecutor } from './tensorflow/tensorflow-executor.js';
export { ThreadChoice, type ThreadChoiceOptions, type TimedRun, type Width } from './thread-choice.js';
