import { addGradients, type CompiledGraph, type GraphExecutor, type TensorData } from '../graph/index.js';
import type { PairLoss } from './head.js';
import { gradientOutput, LOSS } from './training-graph.js';

/** The compiled loss of a batch of pairs, and its gradients with respect to the texts' outputs. */
export class CompiledPairLoss {
  readonly #compiled: CompiledGraph;
  readonly #names: { readonly anchors: string; readonly candidates: string };

  private constructor(compiled: CompiledGraph, { anchors, candidates }: PairLoss) {
    this.#compiled = compiled;
    this.#names = { anchors: anchors.name, candidates: candidates.name };
  }

  static async create(pairLoss: PairLoss, executor: GraphExecutor): Promise<CompiledPairLoss> {
    const { graph, loss } = pairLoss;
    graph.output(LOSS, loss);
    for (const { parameter, dense } of addGradients(graph, loss)) {
      if (dense !== undefined) graph.output(gradientOutput(parameter.name), dense);
    }
    return new CompiledPairLoss(await executor.compile(graph), pairLoss);
  }

  /** @param outputs [texts, width]: first those of the anchors, then those of the candidates. */
  async run(
    outputs: Float32Array,
    anchors: number,
    width: number,
    feeds: Readonly<Record<string, TensorData>>,
  ): Promise<{ loss: number; gradients: Float32Array }> {
    const gradients = new Float32Array(outputs.length);
    const value = new Float32Array(1);
    const split = (array: Float32Array) => ({
      [this.#names.anchors]: matrix(array.subarray(0, anchors * width), width),
      [this.#names.candidates]: matrix(array.subarray(anchors * width), width),
    });
    const results = Object.entries(split(gradients)).map(([name, tensor]) => [gradientOutput(name), tensor]);
    await this.#compiled.run(
      { ...split(outputs), ...feeds },
      { ...Object.fromEntries(results), [LOSS]: { type: 'float32', dims: [], data: value } },
    );
    return { loss: value[0] ?? Number.NaN, gradients };
  }

  release(): Promise<void> {
    return this.#compiled.release();
  }
}

function matrix(data: Float32Array, width: number): TensorData {
  return { type: 'float32', dims: [data.length / width, width], data };
}
