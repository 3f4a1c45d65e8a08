import type { PairLoss } from '../families/index.js';
import { addGradients, type CompiledGraph, type GraphExecutor, type TensorData } from '../graph/index.js';
import { gradientOutput, LOSS } from './training-graph.js';

/** The loss over all texts of a batch, and its gradients for their outputs. */
export class CompiledPairLoss {
  private constructor(
    private readonly compiled: CompiledGraph,
    private readonly names: { readonly questions: string; readonly passages: string },
  ) {}

  static async create(
    { graph, questions, passages, loss }: PairLoss,
    executor: GraphExecutor,
  ): Promise<CompiledPairLoss> {
    graph.output(LOSS, loss);
    for (const { parameter, dense } of addGradients(graph, loss)) {
      if (dense !== undefined) graph.output(gradientOutput(parameter.name), dense);
    }
    const names = { questions: questions.name, passages: passages.name };
    return new CompiledPairLoss(await executor.compile(graph), names);
  }

  /** @param outputs [texts, width]: those of the questions, then those of the passages. */
  async run(
    outputs: Float32Array,
    questions: number,
    width: number,
    feeds: Readonly<Record<string, TensorData>>,
  ): Promise<{ loss: number; gradients: Float32Array }> {
    const gradients = new Float32Array(outputs.length);
    const value = new Float32Array(1);
    const split = (array: Float32Array) => ({
      [this.names.questions]: matrix(array.subarray(0, questions * width), width),
      [this.names.passages]: matrix(array.subarray(questions * width), width),
    });
    const results = Object.entries(split(gradients)).map(([name, tensor]) => [gradientOutput(name), tensor]);
    await this.compiled.run(
      { ...split(outputs), ...feeds },
      { ...Object.fromEntries(results), [LOSS]: { type: 'float32', dims: [], data: value } },
    );
    return { loss: value[0] ?? Number.NaN, gradients };
  }

  release(): Promise<void> {
    return this.compiled.release();
  }
}

function matrix(data: Float32Array, width: number): TensorData {
  return { type: 'float32', dims: [data.length / width, width], data };
}
