import { type CompiledGraph, Graph, type GraphExecutor, type TensorData } from '../../../../src/graph/index.js';

/** Row-major. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float32Array;
}

/**
 * Products of large matrices, on the runtime that trains; a plain loop would take a hundred times as long.
 */
export class MatrixProduct {
  private constructor(
    private readonly plain: CompiledGraph,
    private readonly transposed: CompiledGraph,
  ) {}

  static async create(executor: GraphExecutor): Promise<MatrixProduct> {
    const compile = (transposeA: boolean) => executor.compile(productGraph(transposeA));
    return new MatrixProduct(await compile(false), await compile(true));
  }

  /** a·b. Shapes: a [m, k], b [k, n]. */
  async of(a: Matrix, b: Matrix): Promise<Matrix> {
    return this.#run(this.plain, a, b, a.rows);
  }

  /** aᵀ·b. Shapes: a [k, m], b [k, n]. */
  async ofTransposed(a: Matrix, b: Matrix): Promise<Matrix> {
    return this.#run(this.transposed, a, b, a.columns);
  }

  async release(): Promise<void> {
    await this.plain.release();
    await this.transposed.release();
  }

  async #run(compiled: CompiledGraph, a: Matrix, b: Matrix, rows: number): Promise<Matrix> {
    const product = { rows, columns: b.columns, values: new Float32Array(rows * b.columns) };
    await compiled.run({ a: tensor(a), b: tensor(b) }, { product: tensor(product) });
    return product;
  }
}

function productGraph(transposeA: boolean): Graph {
  const graph = new Graph();
  const a = graph.input('a', 'float32', transposeA ? ['k', 'm'] : ['m', 'k']);
  const b = graph.input('b', 'float32', ['k', 'n']);
  graph.output('product', graph.gemm(a, b, { transposeA }));
  return graph;
}

const tensor = ({ rows, columns, values }: Matrix): TensorData => ({
  type: 'float32',
  dims: [rows, columns],
  data: values,
});
