import { type Graph, onnxPieces, type Quantization } from '../../src/graph/index.js';

/** The bytes of an ONNX model with these weights inside. */
export async function toOnnx(
  graph: Graph,
  weights: ReadonlyMap<string, Float32Array> = new Map(),
  quantization?: Quantization,
): Promise<Buffer> {
  return Buffer.concat([...onnxPieces(graph, weights, quantization)]);
}
