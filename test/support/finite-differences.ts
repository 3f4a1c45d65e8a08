import {
  addGradients,
  type CompiledGraph,
  Graph,
  type GraphExecutor,
  onnxExecutor,
  type Tensor,
  type TensorData,
} from '../../src/graph/index.js';

type Dims = readonly number[];

export interface GradientProblem {
  /** Parameters with their starting values. */
  readonly parameters: ReadonlyMap<string, { readonly dims: Dims; readonly values: Float32Array }>;
  /** Inputs that stay fixed. */
  readonly feeds?: Readonly<Record<string, TensorData>>;
  /** Builds the scalar loss. */
  readonly loss: (graph: Graph) => Tensor;
  /** Default: ONNX Runtime on the CPU. */
  readonly executor?: GraphExecutor;
}

const volume = (dims: Dims) => dims.reduce((product, dimension) => product * dimension, 1);

/** Reproducible numbers in (−scale, scale). */
export function someNumbers(count: number, scale = 1, seed = 1): Float32Array {
  let state = seed * 2654435761;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 31 - 1) * scale;
  });
}

/**
 * ‖analytic − numeric‖ / ‖numeric‖ over all parameters, where the numeric gradient is the fourth-order central
 * difference (8(f(x+h) − f(x−h)) − (f(x+2h) − f(x−2h))) / 12h.
 * @param perParameter at most so many entries of each parameter are tried.
 */
export async function gradientError(problem: GradientProblem, step = 0.02, perParameter = 40): Promise<number> {
  const { compiled, feeds, outputs, lossValue } = await compile(problem);
  await compiled.run(feeds, outputs);
  const analytic = analyticGradients(problem, outputs, feeds);
  let difference = 0;
  let size = 0;
  for (const [name, { values }] of problem.parameters) {
    const stride = Math.max(1, Math.floor(values.length / perParameter));
    for (let index = 0; index < values.length; index += stride) {
      const numeric = await numericDerivative(values, index, step, async () => {
        await compiled.run(feeds, outputs);
        return lossValue[0] ?? Number.NaN;
      });
      difference += (numeric - (analytic.get(name)?.[index] ?? 0)) ** 2;
      size += numeric ** 2;
    }
  }
  await compiled.release();
  return Math.sqrt(difference / size);
}

async function numericDerivative(
  values: Float32Array,
  index: number,
  step: number,
  loss: () => Promise<number>,
): Promise<number> {
  const centre = values[index] ?? 0;
  const at = async (offset: number) => {
    values[index] = centre + offset;
    return loss();
  };
  const near = (await at(step)) - (await at(-step));
  const far = (await at(2 * step)) - (await at(-2 * step));
  values[index] = centre;
  return (8 * near - far) / (12 * step);
}

async function compile(problem: GradientProblem): Promise<{
  compiled: CompiledGraph;
  feeds: Record<string, TensorData>;
  outputs: Record<string, TensorData>;
  lossValue: Float32Array;
}> {
  const graph = new Graph();
  const loss = problem.loss(graph);
  graph.output('loss', loss);
  const lossValue = new Float32Array(1);
  const outputs: Record<string, TensorData> = { loss: { type: 'float32', dims: [], data: lossValue } };
  const feeds: Record<string, TensorData> = { ...problem.feeds };
  const sizes = symbolValues(graph, problem);
  for (const { parameter, dense, rows } of addGradients(graph, loss)) {
    const add = (name: string, tensor: Tensor) => {
      graph.output(name, tensor);
      const dims = tensor.shape.map((d) =>
        typeof d === 'number' ? d : volume(d.split('*').map((symbol) => sizes.get(symbol) ?? Number.NaN)),
      );
      outputs[name] = { type: 'float32', dims, data: new Float32Array(volume(dims)) };
    };
    if (dense !== undefined) add(`dense:${parameter.name}`, dense);
    for (const [index, each] of rows.entries()) {
      add(`rows:${parameter.name}:${each.indices.name}:${index}`, each.rows);
    }
  }
  for (const [name, { dims, values }] of problem.parameters) feeds[name] = { type: 'float32', dims, data: values };
  const { executor = onnxExecutor() } = problem;
  return { compiled: await executor.compile(graph), feeds, outputs, lossValue };
}

function symbolValues(graph: Graph, { feeds = {} }: GradientProblem): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const input of graph.inputs) {
    input.shape.forEach((dimension, axis) => {
      const size = feeds[input.name]?.dims[axis];
      if (typeof dimension === 'string' && size !== undefined) sizes.set(dimension, size);
    });
  }
  return sizes;
}

function analyticGradients(
  { parameters }: GradientProblem,
  outputs: Readonly<Record<string, TensorData>>,
  feeds: Readonly<Record<string, TensorData>>,
): Map<string, Float32Array> {
  const gradients = new Map<string, Float32Array>();
  for (const [name, { values, dims }] of parameters) {
    const total = new Float32Array(values.length);
    for (const [output, { data }] of Object.entries(outputs)) {
      const [kind, parameter, indices] = output.split(':');
      if (parameter !== name) continue;
      if (kind === 'dense')
        for (const [index, value] of data.entries()) total[index] = (total[index] ?? 0) + Number(value);
      else scatter(total, data, feeds[indices ?? '']?.data, volume(dims) / (dims[0] ?? 1));
    }
    gradients.set(name, total);
  }
  return gradients;
}

function scatter(
  total: Float32Array,
  rows: TensorData['data'],
  indices: TensorData['data'] | undefined,
  width: number,
): void {
  indices?.forEach((row, position) => {
    for (let column = 0; column < width; column += 1) {
      const at = Number(row) * width + column;
      total[at] = (total[at] ?? 0) + Number(rows[position * width + column]);
    }
  });
}
