import { type Encoder, type ParameterSpec, trainingInputs } from '../encoder/index.js';
import { addGradients, Graph, type ResidentTensor } from '../graph/index.js';
import { GeneratedDropout } from './generated-dropout.js';
import type { ResidentGradients } from './gradient-sum.js';
import type { Head, LossHead } from './head.js';
import { RowSums } from './row-sums.js';
import { gradientOutput, LOGITS, LOSS } from './training-graph.js';

/** Forward pass with dropout as a graph that makes its own masks. */
export interface ForwardOnDevice {
  readonly graph: Graph;
  readonly dropout: GeneratedDropout;
}

/** Forward pass, loss and backward pass, down to one dense gradient for every parameter. */
export interface TrainingOnDevice extends ForwardOnDevice {
  readonly rowSums: RowSums;
  /** The gradients among the outputs of a run, by parameter name. */
  gradientsIn(outputs: Readonly<Record<string, ResidentTensor>>): ResidentGradients;
}

export function buildResidentTraining(
  head: LossHead,
  encoder: Encoder,
  trainable: readonly ParameterSpec[],
): TrainingOnDevice {
  const { graph, dropout, logits } = forward(head, encoder);
  const loss = head.loss(graph, logits);
  graph.output(LOSS, loss);
  const rowSums = new RowSums(graph);
  const names = new Set(trainable.map(({ name }) => name));
  for (const gradient of addGradients(graph, loss, names)) {
    graph.output(gradientOutput(gradient.parameter.name), rowSums.total(gradient));
  }
  return {
    graph,
    dropout,
    rowSums,
    gradientsIn: (outputs) =>
      new Map(
        [...names].flatMap((name) => {
          const tensor = outputs[gradientOutput(name)];
          return tensor === undefined ? [] : [[name, tensor] as const];
        }),
      ),
  };
}

/** The forward pass alone, with the same masks as in {@link buildResidentTraining}. */
export function buildResidentForward(head: Head, encoder: Encoder): ForwardOnDevice {
  const { graph, dropout, logits } = forward(head, encoder);
  graph.output(LOGITS, logits);
  return { graph, dropout };
}

function forward(head: Head, encoder: Encoder) {
  const graph = new Graph();
  const dropout = new GeneratedDropout(graph);
  const logits = head.logits(graph, encoder, trainingInputs(graph), dropout.apply);
  return { graph, dropout, logits };
}
