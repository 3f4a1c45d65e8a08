import type { Encoder } from '../encoder/index.js';
import type { Feed, GraphExecutor } from '../graph/index.js';
import { Random } from '../random.js';
import type { TextWindow } from '../text-reader/index.js';
import { Evaluator } from './evaluator.js';
import { fitLinear } from './fit-linear.js';
import type { FrozenWeights } from './frozen-weights.js';
import type { LabelledTokens, LinearEnd, RowHead, TargetOptions } from './head.js';
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

/**
 * Most texts that the layer is fitted to, or tokens of them in a head per token: more would take longer and more memory,
 * and hardly change it.
 */
const MOST_TEXTS = 4096;
const MOST_TOKENS = 32_768;

/**
 * Weight of half the squared weights beside the sum of all losses. With a tenth of it the layer knows its rows by heart and
 * leaves the encoder little to learn, with ten times as much it starts too low (docs/training.md).
 */
const PENALTY = 100;

/**
 * Fits the linear layer that ends a head to the states that the pretrained encoder gives, before both learn together: a
 * layer drawn at random would first pull the encoder in random directions (Kumar et al. 2022, "Fine-Tuning can Distort
 * Pretrained Features and Underperform Out-of-Distribution", LP-FT).
 * @returns its weight and bias, by name; nothing, if no token has a target.
 * @throws AbortedError soon after the signal fires
 */
export async function fitLinearEnd(fit: LinearEndFit): Promise<Weights> {
  const { executor, head, end, encoder, options, signal } = fit;
  const windows = drawnWindows(fit);
  const texts = await statesOf(windows, fit);
  const labelled = end.labelledTokens?.(windows, options);
  const rows = labelled ? tokenRows(texts, labelled.places, encoder.width) : texts;
  if (rows.length === 0) return new Map();
  const { feeds } = labelled ?? head.targets(windows, options);
  const vectors = joined(rows, encoder.width);
  const penalty = PENALTY / (rows.length * end.lossesPerRow);
  const problem = {
    vectors,
    width: encoder.width,
    outputs: head.outputs(encoder),
    loss: head.loss,
    feeds,
    penalty,
  };
  const { weight, bias } = await fitLinear(executor, problem, signal);
  return new Map([
    [end.weight, weight],
    [end.bias, bias],
  ]);
}

/** Some of the training texts, in the order of their rows. */
function drawnWindows({ train, head, seed }: LinearEndFit): TextWindow[] {
  const shuffled = Random.fromSeed(seed, 1).shuffle([...train]);
  let tokens = 0;
  const drawn = shuffled.slice(0, MOST_TEXTS).filter(({ encoding }) => {
    tokens += encoding.ids.length;
    return head.per === 'text' || tokens <= MOST_TOKENS;
  });
  return drawn.sort((a, b) => a.row - b.row);
}

/** What the layer reads of each window, [width] or [tokens, width]; the windows are sorted by their rows. */
async function statesOf(windows: readonly TextWindow[], fit: LinearEndFit): Promise<readonly Float32Array[]> {
  const { executor, head, end, encoder, frozen, parameters, signal } = fit;
  // Adapters change nothing yet, so that the states are those of the encoder alone.
  const own = new Set(encoder.parameters(encoder.prefix).map(({ name }) => name));
  const below = Object.fromEntries(Object.entries(parameters).filter(([name]) => own.has(name)));
  const headless: RowHead = { ...head, outputs: ({ width }) => width, logits: end.states };
  const evaluator = await Evaluator.create(executor, headless, encoder, frozen);
  try {
    const texts = await evaluator.outputs(windows, below, signal);
    return texts.flat().map(({ outputs }) => outputs);
  } finally {
    await evaluator.release();
  }
}

/** The states of these tokens, text by text. */
function tokenRows(
  texts: readonly Float32Array[],
  places: LabelledTokens['places'],
  width: number,
): readonly Float32Array[] {
  return texts.flatMap((states, text) =>
    (places[text] ?? []).map((token) => states.subarray(token * width, (token + 1) * width)),
  );
}

/** [rows, width] */
function joined(rows: readonly Float32Array[], width: number): Float32Array {
  const all = new Float32Array(rows.length * width);
  for (const [at, row] of rows.entries()) all.set(row, at * width);
  return all;
}
