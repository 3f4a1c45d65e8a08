/** Runs a graph in this thread, as an application does. */
import { Graph, onnxExecutor } from 'orchard-nlp/graph';

const graph = new Graph();
const x = graph.input('x', 'float32', [2]);
graph.output('y', graph.add(x, x));
const compiled = await onnxExecutor().compile(graph);
const y = { type: 'float32', dims: [2], data: new Float32Array(2) };
await compiled.run({ x: { type: 'float32', dims: [2], data: Float32Array.of(1, 2) } }, { y });
await compiled.release();
if (y.data.join() !== '2,4') throw new Error(`computed ${y.data}`);
