import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Graph } from '../../../src/graph/index.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { toOnnx } from '../../support/to-onnx.js';

/** The path of a small graph for ONNX Runtime. */
export async function aModelFile(): Promise<string> {
  const graph = new Graph();
  const x = graph.input('x', 'float32', [2]);
  graph.output('y', graph.add(x, x));
  const file = join(temporaryDirectory(), 'model.onnx');
  writeFileSync(file, await toOnnx(graph));
  return file;
}
