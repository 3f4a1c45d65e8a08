import { type LinearFit, LinearSolver } from '../../engine/index.js';
import { type LinearExpert, trainLinearExpert } from '../../lexical/index.js';
import { mapWithPauses, Random, withPauses } from '../../system/index.js';
import { crossEntropy } from '../cross-entropy.js';
import type { FewRowsOptions } from '../family.js';
import { calibratedLoss } from './calibration.js';
import {
  type ClassificationDataset,
  type ClassificationKind,
  type LabelledText,
  linkOf,
} from './classification-dataset.js';
import { activeOutputs, balancedWeights, lossTargets, sigmoidLoss } from './targets.js';

/**
 * Classifiers from few rows: logistic regression on the states of an encoder that stays as it is, and the lexical expert.
 * No row is held out: each is answered by models that were trained without it, and the final model is trained on all of
 * them (docs/training.md, "Few rows").
 */

/** A row, or a text that says what a label means, as the linear layer sees it. */
export interface Example extends LabelledText {
  /** The encoder's state. [width] */
  readonly state: Float32Array;
}

/** Rows that are answered by models which are trained on others. */
export interface Split {
  readonly train: readonly Example[];
  readonly judged: readonly Example[];
}

/** What models that had not seen the rows say of them. */
export interface JudgedRows {
  readonly rows: readonly LabelledText[];
  /** Logits of the linear layer. [rows, outputs] */
  readonly encoder: Float32Array;
  /** Margins of the lexical expert. [rows, outputs] */
  readonly expert: Float32Array;
  /** Share of each row's n-grams that the lexical expert knew. [rows] */
  readonly coverages: Float64Array;
}

export interface FewRowsModel {
  /** Reads the encoder's states. */
  readonly layer: LinearFit;
  readonly expert: LinearExpert;
  readonly judged: JudgedRows;
  readonly choice: LayerChoice & { /** Mean log-loss of the judged rows, in nats. */ readonly loss: number };
}

export interface LayerChoice {
  /** Inverse strength of the L2 penalty, as scikit-learn's C, for states of unit length. */
  readonly strength: number;
  /** Whether the names of the labels are among the examples. */
  readonly names: boolean;
}

/** Rows with rare classes need weaker penalties where there are many labels. */
const STRENGTHS = [0.3, 1, 3] as const;
const STRENGTHS_OF_MANY_LABELS = [1, 3, 10, 30] as const;
const MANY_LABELS = 13;

/** The log-loss, in nats over all judged rows, by which layers without label names have to do better than those with. */
const ADVANTAGE_OF_NAMES = 1;

/** Eight folds leave more rows to learn from than four, and take twice as long. */
const FOLDS = 8;
const FOLDS_OF_MANY_ROWS = 4;
const MANY_ROWS = 200;

/**
 * Stratified folds: each label's rows are spread evenly over them. A label's only row is trained on in each, as nothing else says what
 * the label means.
 */
export function foldsOf(rows: readonly Example[], seed: number): readonly Split[] {
  const byLabel = new Map<number | undefined, Example[]>();
  for (const row of Random.fromSeed(seed).shuffle([...rows])) {
    const [label] = row.labelIds;
    const group = byLabel.get(label);
    if (group) group.push(row);
    else byLabel.set(label, [row]);
  }
  const judged = [...byLabel.values()].filter(({ length }) => length > 1).flat();
  const count = Math.min(judged.length, judged.length < MANY_ROWS ? FOLDS : FOLDS_OF_MANY_ROWS);
  const foldOf = new Map(judged.map((row, at) => [row, at % count]));
  return Array.from({ length: count }, (_, fold) => ({
    train: rows.filter((row) => foldOf.get(row) !== fold),
    judged: rows.filter((row) => foldOf.get(row) === fold),
  }));
}

interface FewRows {
  readonly rows: readonly Example[];
  /** What the labels are called or described as. */
  readonly names: readonly Example[];
  /** How the rows are judged. */
  readonly splits: readonly Split[];
}

/** @throws AbortedError soon after the signal fires */
export function trainOnFewRows(dataset: LabelSet, data: FewRows, options: FewRowsOptions): Promise<FewRowsModel> {
  return withSolver(dataset, data, options, (shape, solver) => new FewRowsTraining(shape, data, solver, options).run());
}

/**
 * Judges rows by folds alone, without a final model. The more often, the better are the rows ordered: each time, the folds
 * are others, and logits and margins are averaged. To judge once is meant to be quick: the layer's penalty isn't chosen.
 * @throws AbortedError soon after the signal fires
 */
export function judgeByFolds(
  dataset: LabelSet,
  { rows, names }: Pick<FewRows, 'rows' | 'names'>,
  options: FewRowsOptions,
  { repeats }: { readonly repeats: number },
): Promise<JudgedRows> {
  return withSolver(dataset, { rows }, options, async (shape, solver) => {
    const judgements: JudgedRows[] = [];
    const strength = dataset.labels.length < MANY_LABELS ? 1 : 3;
    let choice = repeats === 1 ? { strength, names: names.length > 0 } : undefined;
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      const data = { rows, names, splits: foldsOf(rows, options.seed + repeat) };
      const training = new FewRowsTraining(shape, data, solver, options);
      const { judged, choice: chosen } = await training.judge(choice);
      judgements.push(judged);
      choice = chosen;
    }
    return meanOf(judgements, shape.outputs);
  });
}

/** @param judgements of the same rows, in any order; the order of the first is kept. */
function meanOf(judgements: readonly JudgedRows[], outputs: number): JudgedRows {
  const [first = { rows: [], encoder: new Float32Array(), expert: new Float32Array(), coverages: new Float64Array() }] =
    judgements;
  const places = new Map(first.rows.map((row, at) => [row, at]));
  const [encoder, expert] = [new Float32Array(first.encoder.length), new Float32Array(first.expert.length)];
  for (const judged of judgements) {
    for (const [from, row] of judged.rows.entries()) {
      const to = places.get(row) ?? 0;
      for (let output = 0; output < outputs; output += 1) {
        const [at, source] = [to * outputs + output, from * outputs + output];
        encoder[at] = (encoder[at] ?? 0) + (judged.encoder[source] ?? 0) / judgements.length;
        expert[at] = (expert[at] ?? 0) + (judged.expert[source] ?? 0) / judgements.length;
      }
    }
  }
  return { ...first, encoder, expert };
}

type LabelSet = Pick<ClassificationDataset, 'kind' | 'labels'>;

async function withSolver<Result>(
  { kind, labels }: LabelSet,
  { rows }: Pick<FewRows, 'rows'>,
  { executor }: FewRowsOptions,
  use: (shape: LayerShape, solver: LinearSolver) => Promise<Result>,
): Promise<Result> {
  const outputs = kind === 'binary' ? 1 : labels.length;
  const width = rows[0]?.state.length ?? 0;
  const loss = linkOf(kind) === 'softmax' ? crossEntropy : sigmoidLoss;
  const solver = await LinearSolver.create(executor, { width, outputs, loss });
  try {
    return await use({ kind, outputs, width, labels: labels.length }, solver);
  } finally {
    await solver.release();
  }
}

interface LayerShape {
  readonly kind: ClassificationKind;
  readonly labels: number;
  readonly outputs: number;
  readonly width: number;
}

interface ChosenLayer {
  readonly choice: LayerChoice;
  /** Its logits for the judged rows. [rows, outputs] */
  readonly encoder: Float32Array;
  readonly loss: number;
}

class FewRowsTraining {
  readonly #shape: LayerShape;
  readonly #data: FewRows;
  readonly #solver: LinearSolver;
  readonly #options: FewRowsOptions;
  /** Mean length of the states: the layer is fitted to states of unit length, but reads them as they are. */
  readonly #length: number;
  readonly #judged: readonly Example[];

  constructor(shape: LayerShape, data: FewRows, solver: LinearSolver, options: FewRowsOptions) {
    this.#shape = shape;
    this.#data = data;
    this.#solver = solver;
    this.#options = options;
    const total = data.rows.reduce((sum, { state }) => sum + lengthOf(state), 0);
    this.#length = total > 0 ? total / data.rows.length : 1;
    this.#judged = data.splits.flatMap(({ judged }) => judged);
  }

  async run(): Promise<FewRowsModel> {
    const { choice, encoder, loss } = await this.#chooseLayer();
    const { rows } = this.#data;
    return {
      judged: await this.#withExpert(encoder),
      layer: await this.#fitLayer(rows, choice),
      expert: await this.#trainExpert(rows),
      choice: { ...choice, loss: loss / Math.max(1, this.#judged.length) },
    };
  }

  /** @param given how the layer is fitted. Default: under which the rows are most likely. */
  async judge(given?: LayerChoice): Promise<{ readonly judged: JudgedRows; readonly choice: LayerChoice }> {
    const { choice, encoder } = given
      ? { choice: given, encoder: await this.#judgedLogits(given, new Map()) }
      : await this.#chooseLayer();
    return { judged: await this.#withExpert(encoder), choice };
  }

  async #withExpert(encoder: Float32Array): Promise<JudgedRows> {
    const { outputs } = this.#shape;
    const expert = new Float32Array(this.#judged.length * outputs);
    const coverages = new Float64Array(this.#judged.length);
    let at = 0;
    for (const { train, judged } of this.#data.splits) {
      const trained = await this.#trainExpert(train);
      for (const { text } of judged) {
        const { margins, coverage } = trained.read(text);
        expert.set(margins, at * outputs);
        coverages[at] = coverage;
        at += 1;
      }
    }
    return { rows: this.#judged, encoder, expert, coverages };
  }

  /** The one under which the judged rows are most likely, once its logits are calibrated. */
  async #chooseLayer(): Promise<ChosenLayer> {
    const { labels, kind, outputs } = this.#shape;
    const strengths = labels < MANY_LABELS ? STRENGTHS : STRENGTHS_OF_MANY_LABELS;
    const targets = new Uint8Array(this.#judged.length * outputs);
    for (const [row, { labelIds }] of this.#judged.entries()) {
      for (const output of activeOutputs(kind, labelIds)) targets[row * outputs + output] = 1;
    }
    let best: (ChosenLayer & { readonly handicapped: number }) | undefined;
    for (const names of this.#data.names.length > 0 ? [true, false] : [false]) {
      const before = new Map<Split, LinearFit>();
      for (const strength of strengths) {
        const encoder = await this.#judgedLogits({ strength, names }, before);
        const rows = { link: linkOf(kind), outputs, targets, encoder };
        const loss = await withPauses(calibratedLoss(rows), this.#options.signal);
        const handicapped = names ? loss : loss + ADVANTAGE_OF_NAMES;
        if (best === undefined || handicapped < best.handicapped) {
          best = { choice: { strength, names }, encoder, loss, handicapped };
        }
      }
    }
    if (best === undefined) throw new RangeError('there is no strength to choose');
    return best;
  }

  /** @param before layers for a similar choice, where searches start; becomes those for this one. */
  async #judgedLogits(choice: LayerChoice, before: Map<Split, LinearFit>): Promise<Float32Array> {
    const logits: Float32Array[] = [];
    for (const split of this.#data.splits) {
      const layer = await this.#fitLayer(split.train, choice, before.get(split));
      before.set(split, layer);
      logits.push(...(await mapWithPauses(split.judged, ({ state }) => logitsOf(layer, state), this.#options.signal)));
    }
    const { outputs } = this.#shape;
    const joined = new Float32Array(logits.length * outputs);
    for (const [row, each] of logits.entries()) joined.set(each, row * outputs);
    return joined;
  }

  /** The layer for states as they are. @param start a layer of a similar choice. */
  async #fitLayer(rows: readonly Example[], { strength, names }: LayerChoice, start?: LinearFit): Promise<LinearFit> {
    const { kind, outputs, width } = this.#shape;
    const { balanced, signal } = this.#options;
    const examples = names ? [...rows, ...this.#data.names] : rows;
    const vectors = new Float32Array(examples.length * width);
    for (const [row, { state }] of examples.entries()) vectors.set(unit(state), row * width);
    const labels = examples.map(({ labelIds }) => activeOutputs(kind, labelIds));
    const link = linkOf(kind);
    const classWeights = balanced ? balancedWeights(labels, outputs) : undefined;
    const rules = { link, labelSmoothing: 0, ...(classWeights && { classWeights }) };
    const { feeds, weight } = lossTargets(labels, outputs, rules);
    // The loss is a mean; scikit-learn's is a sum.
    const losses = weight * (link === 'softmax' ? 1 : outputs);
    const problem = { vectors, feeds, penalty: 1 / (strength * losses) };
    const begin = start && scaledLayer(start, this.#length);
    return scaledLayer(await this.#solver.fit(problem, signal, begin), 1 / this.#length);
  }

  #trainExpert(rows: readonly Example[]): Promise<LinearExpert> {
    const { kind, outputs } = this.#shape;
    const { lowercase, balanced, seed, signal } = this.#options;
    const examples = [...rows, ...this.#data.names];
    const active = examples.map(({ labelIds }) => activeOutputs(kind, labelIds));
    return trainLinearExpert(
      examples.map(({ text }) => text),
      active,
      { outputs, lowercase, seed, signal, ...(balanced && { classWeights: balancedWeights(active, outputs) }) },
    );
  }
}

function scaledLayer({ weight, bias }: LinearFit, factor: number): LinearFit {
  return { weight: weight.map((each) => factor * each), bias };
}

/** [outputs] */
export function logitsOf({ weight, bias }: LinearFit, state: Float32Array): Float32Array {
  const { length: width } = state;
  return bias.map((start, output) => {
    let sum = start;
    for (let at = 0; at < width; at += 1) sum += (weight[output * width + at] ?? 0) * (state[at] ?? 0);
    return sum;
  });
}

function lengthOf(vector: Float32Array): number {
  return Math.sqrt(vector.reduce((sum, each) => sum + each * each, 0));
}

/** The zero vector stays as it is. */
function unit(vector: Float32Array): Float32Array {
  const length = lengthOf(vector);
  return length === 0 ? vector : vector.map((each) => each / length);
}
