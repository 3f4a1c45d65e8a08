import { createNode, outputAt } from './node.js';
import type { BatchMatMulAttributes, GemmAttributes, OperationName, Signatures } from './operations/index.js';
import { operations } from './operations/index.js';
import { mergeDimensions, type Shape, ShapeError } from './shape.js';
import type { ElementType, Tensor, TensorSource } from './tensor.js';

/**
 * A tensor graph under construction: inputs, parameters and constants, and the operations applied to them.
 * Building only describes; numbers flow when a {@link GraphExecutor} runs the compiled graph.
 */
export class Graph {
  readonly inputs: Tensor[] = [];
  readonly parameters: Tensor[] = [];
  readonly outputs = new Map<string, Tensor>();
  readonly #constants = new Map<string, Tensor>();
  readonly #names = new Set<string>();
  #unnamed = 0;

  /** A value fed at every run. */
  input(name: string, type: ElementType, shape: Shape): Tensor {
    const tensor = this.#tensor(name, type, shape, { kind: 'input' });
    this.inputs.push(tensor);
    return tensor;
  }

  /** A learned float32 value: fed while training, stored in the graph on export. */
  parameter(name: string, shape: Shape): Tensor {
    const tensor = this.#tensor(name, 'float32', shape, { kind: 'parameter' });
    this.parameters.push(tensor);
    return tensor;
  }

  /** A small fixed value; the same values in the same shape give the same tensor. */
  constant(values: readonly number[], shape: Shape, type: ElementType = 'float32'): Tensor {
    const key = `${type}[${shape.join()}]${values.join()}`;
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    const tensor = this.#tensor(this.#freshName('constant'), type, shape, { kind: 'constant', values });
    this.#constants.set(key, tensor);
    return tensor;
  }

  /** Makes a tensor readable after a run under this name. */
  output(name: string, tensor: Tensor): void {
    if (this.outputs.has(name)) throw new ShapeError(`the graph has an output ${name} already`);
    this.outputs.set(name, tensor);
  }

  add(a: Tensor, b: Tensor): Tensor {
    return this.#apply('add', [a, b], {});
  }

  subtract(a: Tensor, b: Tensor): Tensor {
    return this.#apply('subtract', [a, b], {});
  }

  multiply(a: Tensor, b: Tensor): Tensor {
    return this.#apply('multiply', [a, b], {});
  }

  divide(a: Tensor, b: Tensor): Tensor {
    return this.#apply('divide', [a, b], {});
  }

  scale(x: Tensor, factor: number): Tensor {
    return factor === 1 ? x : this.#apply('scale', [x], { factor });
  }

  exp(x: Tensor): Tensor {
    return this.#apply('exp', [x], {});
  }

  sqrt(x: Tensor): Tensor {
    return this.#apply('sqrt', [x], {});
  }

  tanh(x: Tensor): Tensor {
    return this.#apply('tanh', [x], {});
  }

  sigmoid(x: Tensor): Tensor {
    return this.#apply('sigmoid', [x], {});
  }

  softplus(x: Tensor): Tensor {
    return this.#apply('softplus', [x], {});
  }

  gaussianGate(z: Tensor): Tensor {
    return this.#apply('gaussianGate', [z], {});
  }

  /** α·op(a)·op(b) + β·c; defaults: nothing transposed, α = β = 1. */
  gemm(a: Tensor, b: Tensor, attributes: Partial<GemmAttributes> = {}, c?: Tensor): Tensor {
    const complete = { transposeA: false, transposeB: false, alpha: 1, beta: 1, ...attributes };
    return this.#apply('gemm', c === undefined ? [a, b] : [a, b, c], complete);
  }

  batchMatMul(a: Tensor, b: Tensor, attributes: Partial<BatchMatMulAttributes> = {}): Tensor {
    return this.#apply('batchMatMul', [a, b], {
      transposeA: false,
      transposeB: false,
      rowsFirstA: false,
      rowsFirstB: false,
      alpha: 1,
      ...attributes,
    });
  }

  softmax(x: Tensor): Tensor {
    return this.#apply('softmax', [x], {});
  }

  logSoftmax(x: Tensor): Tensor {
    return this.#apply('logSoftmax', [x], {});
  }

  layerNorm(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: number): Tensor {
    return this.#apply('layerNorm', [x, gamma, beta], { epsilon });
  }

  gather(table: Tensor, indices: Tensor): Tensor {
    return this.#apply('gather', [table, indices], {});
  }

  reduceSum(x: Tensor, axes: readonly number[], keepDimensions = false): Tensor {
    return this.#apply('reduceSum', [x], { axes, keepDimensions });
  }

  columnSum(x: Tensor): Tensor {
    return this.#apply('columnSum', [x], {});
  }

  expand(x: Tensor, shape: Shape): Tensor {
    return this.#apply('expand', [x], { shape });
  }

  reshape(x: Tensor, shape: Shape): Tensor {
    return this.#apply('reshape', [x], { shape });
  }

  /** Merges all axes but the last: [tokens, batch, width] → [tokens*batch, width]. */
  flattenRows(x: Tensor): Tensor {
    return this.reshape(x, [mergeDimensions(x.shape.slice(0, -1)), ...x.shape.slice(-1)]);
  }

  transpose(x: Tensor, permutation: readonly number[]): Tensor {
    return this.#apply('transpose', [x], { permutation });
  }

  rowNumbers(x: Tensor): Tensor {
    return this.#apply('rowNumbers', [x], {});
  }

  cast(x: Tensor, type: ElementType): Tensor {
    return this.#apply('cast', [x], { type });
  }

  /** Adds a node and gives its first output. */
  #apply<Name extends OperationName>(
    operation: Name,
    inputs: Signatures[Name]['inputs'],
    attributes: Signatures[Name]['attributes'],
  ): Tensor {
    const outputs: Tensor[] = [];
    const node = createNode({ operation, inputs, attributes, outputs });
    operations[operation].describe(inputs, attributes).forEach(({ shape, type }, output) => {
      const name = this.#freshName(operation);
      outputs.push(this.#tensor(name, type ?? inputs[0].type, shape, { kind: 'node', node, output }));
    });
    return outputAt(outputs, 0);
  }

  #freshName(stem: string): string {
    this.#unnamed += 1;
    return `${stem}.${this.#unnamed}`;
  }

  #tensor(name: string, type: ElementType, shape: Shape, source: TensorSource): Tensor {
    if (this.#names.has(name)) throw new ShapeError(`the graph has a tensor ${name} already`);
    this.#names.add(name);
    return { name, type, shape, source };
  }
}
