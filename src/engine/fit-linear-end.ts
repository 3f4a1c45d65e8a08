import type { Encoder } from '../encoder/index.js';
import type { Feed, GraphExecutor } from '../graph/index.js';
import { Random } from '../random.js';
import type { TextWindow } from '../text-reader/index.js';
import { Evaluator } from './evaluator.js';
import { fitLinear } from './fit-linear.js';
import type { FrozenWeights } from './frozen-weights.js';
import type { LinearEnd, RowHead, TargetOptions } from './head.js';
import type { Weights } from './learned-parameters.js';

/** A head with such a layer, and what it stands on. */
export interface LinearEndFit {
  readonly executor: GraphExecutor;
  readonly head: RowHead;
  readonly end: LinearEnd;
  readonly encoder: Encoder;
  /** The encoder's weights, as feeds, but for those that are frozen. */
  readonly parameters: Readonly<Record<string, Feed>>;
  readonly frozen?: FrozenWeights | undefined;
  readonly train: readonly TextWindow[];
  readonly options: TargetOptions;
  /** Draws the texts, where there are more than are needed. */
  readonly seed: number;
  readonly signal: AbortSignal;
}

/** Most texts that the layer is fitted to: more would take longer and hardly change it. */
const MOST_TEXTS = 4096;

/**
 * Weight of half the squared weights beside the sum of all losses. With a tenth of it the layer knows its rows by heart and
 * leaves the encoder little to learn, with ten times as much it starts too low (docs/training.md).
 */
const PENALTY = 100;

/**
 * Fits the linear layer that ends a head to the states that the pretrained encoder gives, before both learn together: a
 * layer drawn at random would first pull the encoder in random directions (Kumar et al. 2022, "Fine-Tuning can Distort
 * Pretrained Features and Underperform Out-of-Distribution", LP-FT).
 * @returns its weight and bias, by name.
 * @throws AbortedError soon after the signal fires
 */
export async function fitLinearEnd(fit: LinearEndFit): Promise<Weights> {
  const { executor, head, end, encoder, options, seed, signal } = fit;
  const drawn = Random.fromSeed(seed, 1)
    .shuffle([...fit.train])
    .slice(0, MOST_TEXTS);
  const windows = drawn.sort((a, b) => a.row - b.row);
  const vectors = await statesOf(windows, fit);
  const outputs = head.outputs(encoder);
  const { feeds } = head.targets(windows, options);
  const penalty = PENALTY / (windows.length * end.lossesPerRow);
  const problem = { vectors, width: encoder.width, outputs, loss: head.loss, feeds, penalty };
  const { weight, bias } = await fitLinear(executor, problem, signal);
  return new Map([
    [end.weight, weight],
    [end.bias, bias],
  ]);
}

/** [windows, width], in the order of windows that are sorted by their rows. */
async function statesOf(windows: readonly TextWindow[], fit: LinearEndFit): Promise<Float32Array> {
  const { executor, head, end, encoder, frozen, parameters, signal } = fit;
  // Adapters change nothing yet, so that the states are those of the encoder alone.
  const own = new Set(encoder.parameters(encoder.prefix).map(({ name }) => name));
  const below = Object.fromEntries(Object.entries(parameters).filter(([name]) => own.has(name)));
  const headless: RowHead = { ...head, outputs: ({ width }) => width, logits: end.states };
  const evaluator = await Evaluator.create(executor, headless, encoder, frozen);
  try {
    const texts = await evaluator.outputs(windows, below, signal);
    const states = new Float32Array(windows.length * encoder.width);
    for (const [at, { outputs }] of texts.flat().entries()) states.set(outputs, at * encoder.width);
    return states;
  } finally {
    await evaluator.release();
  }
}
