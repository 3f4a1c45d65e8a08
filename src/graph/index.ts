export { type DeviceGraph, type DeviceUse, openDeviceGraph } from './device-graph.js';
export { encoderFile, readEncoderFile } from './encoder-file.js';
export {
  type CompiledGraph,
  type CompileOptions,
  checkFeeds,
  checkOutputs,
  emptyTensor,
  type Feed,
  fedTensors,
  type GraphExecutor,
  type LoadedGraph,
  notHere,
  type OnnxExecutor,
  type ResidentCompileOptions,
  type ResidentGraph,
  type ResidentMemory,
  type ResidentTensor,
  readStoredWeight,
  type Sizes,
  type StoredWeights,
  type TensorData,
  type TensorDescription,
} from './executor.js';
export { addGradients, Graph, type ParameterGradient } from './graph.js';
export {
  type ElementType,
  type Node,
  type NodeOf,
  nodesFor,
  outputAt,
  type Tensor,
  type TensorSource,
} from './node.js';
export {
  type DeviceInformation,
  deviceInformation,
  listDevices,
  promisingDevices,
  WORTH_A_DEVICE,
} from './onnx/devices.js';
export {
  restoredWeights,
  type StoredLayer,
  type StoredModel,
  type StoredTable,
  storedModel,
} from './onnx/integer-weights.js';
export { type OnnxExecutorOptions, onnxExecutor } from './onnx/onnx-executor.js';
export { runtimeProblem } from './onnx/runtime.js';
export { onnxPieces } from './onnx/to-onnx.js';
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
} from './operations/operation.js';
export { linearInputs, type Quantization, type Range, type TableBits } from './quantization.js';
export { type Dimension, mergeDimensions, resolveShape, type Shape, ShapeError, volume } from './shape.js';
export {
  type TensorFlow,
  type TensorFlowClasses,
  type TensorFlowTensor,
  tensorflowExecutor,
} from './tensorflow/tensorflow-executor.js';
export {
  type AdaptiveThreadsOptions,
  adaptiveThreads,
  cpuExecutor,
  ThreadChoice,
  type ThreadChoiceOptions,
  type TimedRun,
  type Width,
} from './thread-count.js';
