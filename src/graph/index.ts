export type { CompiledGraph, CompileOptions, GraphExecutor, TensorData } from './executor.js';
export { addGradients, type ParameterGradient } from './gradients.js';
export { Graph } from './graph.js';
export { createSession, int64Tensor, onnxExecutor } from './onnx/onnx-executor.js';
export { toOnnx } from './onnx/to-onnx.js';
export type { RowGradient } from './operations/index.js';
export { type Dimension, resolveShape, type Shape, ShapeError, volume } from './shape.js';
export type { ElementType, Tensor } from './tensor.js';
