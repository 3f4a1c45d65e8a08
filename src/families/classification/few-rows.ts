import { type LinearFit, LinearSolver } from '../../engine/index.js';
import { type LinearExpert, trainLinearExpert } from '../../lexical/index.js';
import { mapWithPauses, withPauses } from '../../system/index.js';
import { crossEntropy } from '../cross-entropy.js';
import type { FewRowsChoices, FewRowsOptions } from '../family.js';
import { foldsOf } from '../folds.js';
import { unitVector } from '../retrieval/vector-index.js';
import { calibratedLoss } from './calibration.js';
import {
  type ClassificationDataset,
  type ClassificationKind,
  joinedText,
  type LabelledText,
  linkOf,
} from './classification-dataset.js';
import { balancedWeights, lossTargets, sigmoidLoss, targetOf, truthOf } from './targets.js';

/**
 * Classifiers from few rows: logistic regression on the states of an encoder that stays as it is, and the lexical expert.
 * No row is held out: each is answered by models that were trained without it, and the final model is trained on all of
 * them (docs/few-rows.md).
 */

/** A row, or a text that says what a label means, as the linear layer sees it. */
export interface Example extends LabelledText {
  /** The encoder's state. [width] */
  readonly state: Float32Array;
}

/** Rows that are answered by a model which is trained on others. */
export interface Split {
  readonly train: readonly Example[];
  /** What the labels are called or described as. */
  readonly names: readonly Example[];
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
  /** Those that judged each split. */
  readonly splitLayers: readonly LinearFit[];
  readonly expert: LinearExpert;
  readonly judged: JudgedRows;
  readonly choices: FewRowsChoices;
}

/** What is tried. Many labels need weaker penalties, and their names help less. */
const FEW_LABELS = { strengths: [0.3, 1, 3], names: [4, 1, 0] } as const;
const MANY_LABELS = { strengths: [1, 3, 10, 30], names: [1, 0] } as const;
const MOST_OF_FEW_LABELS = 12;

/** By which the rows are spread over folds. */
export function firstLabels(rows: readonly LabelledText[]): readonly (number | undefined)[] {
  return rows.map(({ labelIds }) => labelIds[0]);
}

interface FewRows {
  /** All rows to train on. */
  readonly train: readonly Example[];
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
  { train, names }: Pick<FewRows, 'train' | 'names'>,
  options: FewRowsOptions,
  { repeats }: { readonly repeats: number },
): Promise<JudgedRows> {
  return withSolver(dataset, { train }, options, async (shape, solver) => {
    const judgements: JudgedRows[] = [];
    const usual = dataset.labels.length > MOST_OF_FEW_LABELS ? 3 : 1;
    const quick = { inverseRegularization: usual, labelNames: names.length > 0 ? 1 : 0 };
    let choices: FewRowsChoices | undefined = repeats === 1 ? quick : undefined;
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      const pick = (at: readonly number[]) => at.flatMap((row) => train[row] ?? []);
      const splits = foldsOf(firstLabels(train), options.seed + repeat).map((fold) => ({
        train: pick(fold.train),
        names,
        judged: pick(fold.judged),
      }));
      const given = { ...options, ...(choices && { choices }) };
      const found = await new FewRowsTraining(shape, { train, names, splits }, solver, given).judge();
      judgements.push(found.judged);
      choices = found.choices;
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
  { train }: Pick<FewRows, 'train'>,
  { executor }: FewRowsOptions,
  use: (shape: LayerShape, solver: LinearSolver) => Promise<Result>,
): Promise<Result> {
  const outputs = kind === 'binary' ? 1 : labels.length;
  const width = train[0]?.state.length ?? 0;
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
  readonly choices: FewRowsChoices;
  /** Its logits for the judged rows. [rows, outputs] */
  readonly encoder: Float32Array;
  readonly splitLayers: readonly LinearFit[];
}

class FewRowsTraining {
  readonly #shape: LayerShape;
  readonly #data: FewRows;
  readonly #solver: LinearSolver;
  readonly #options: FewRowsOptions;
  readonly #judged: readonly Example[];

  constructor(shape: LayerShape, data: FewRows, solver: LinearSolver, options: FewRowsOptions) {
    this.#shape = shape;
    this.#data = data;
    this.#solver = solver;
    this.#options = options;
    this.#judged = data.splits.flatMap(({ judged }) => judged);
  }

  async run(): Promise<FewRowsModel> {
    const { choices, encoder, splitLayers } = await this.#chooseLayer();
    return {
      layer: await this.#fitLayer(this.#data, choices),
      splitLayers,
      expert: await this.#trainExpert(this.#data),
      judged: await this.#withExpert(encoder),
      choices,
    };
  }

  async judge(): Promise<Pick<FewRowsModel, 'judged' | 'choices'>> {
    const { choices, encoder } = await this.#chooseLayer();
    return { judged: await this.#withExpert(encoder), choices };
  }

  async #withExpert(encoder: Float32Array): Promise<JudgedRows> {
    const { outputs } = this.#shape;
    const expert = new Float32Array(this.#judged.length * outputs);
    const coverages = new Float64Array(this.#judged.length);
    let at = 0;
    for (const split of this.#data.splits) {
      const trained = await this.#trainExpert(split);
      for (const row of split.judged) {
        const { margins, coverage } = trained.read(joinedText(row));
        expert.set(margins, at * outputs);
        coverages[at] = coverage;
        at += 1;
      }
    }
    return { rows: this.#judged, encoder, expert, coverages };
  }

  /** The one under which the judged rows are most likely, once its logits are calibrated. */
  async #chooseLayer(): Promise<ChosenLayer> {
    const { kind, outputs } = this.#shape;
    const truth = truthOf({ kind, outputs }, this.#judged);
    let best: (ChosenLayer & { readonly loss: number }) | undefined;
    let before = new Map<Split, LinearFit>();
    for (const choices of this.#candidates()) {
      const { encoder, layers } = await this.#judgedLogits(choices, before);
      before = layers;
      const loss = await withPauses(
        calibratedLoss({ link: linkOf(kind), outputs, ...truth, encoder }),
        this.#options.signal,
      );
      if (best === undefined || loss < best.loss) {
        best = { choices, encoder, splitLayers: [...layers.values()], loss };
      }
    }
    if (best === undefined) throw new RangeError('there is nothing to choose from');
    return best;
  }

  #candidates(): readonly FewRowsChoices[] {
    const { choices } = this.#options;
    if (choices) return [choices];
    const { strengths, names } = this.#shape.labels > MOST_OF_FEW_LABELS ? MANY_LABELS : FEW_LABELS;
    return (this.#data.names.length > 0 ? names : [0]).flatMap((labelNames) =>
      strengths.map((inverseRegularization) => ({ inverseRegularization, labelNames })),
    );
  }

  /** @param before layers of another choice, where the searches start */
  async #judgedLogits(choices: FewRowsChoices, before: ReadonlyMap<Split, LinearFit>) {
    const logits: Float32Array[] = [];
    const layers = new Map<Split, LinearFit>();
    for (const split of this.#data.splits) {
      const layer = await this.#fitLayer(split, choices, before.get(split));
      layers.set(split, layer);
      logits.push(...(await mapWithPauses(split.judged, ({ state }) => logitsOf(layer, state), this.#options.signal)));
    }
    const { outputs } = this.#shape;
    const encoder = new Float32Array(logits.length * outputs);
    for (const [row, each] of logits.entries()) encoder.set(each, row * outputs);
    return { encoder, layers };
  }

  /**
   * The layer for states as they are. It is fitted to states of unit length, which does better, and scaled by their mean
   * length, which does as well as to read states of unit length.
   * @param start a layer of a similar choice.
   */
  async #fitLayer(
    { train, names }: Pick<FewRows, 'train' | 'names'>,
    choices: FewRowsChoices,
    start?: LinearFit,
  ): Promise<LinearFit> {
    const { kind, outputs, width } = this.#shape;
    const { balanced, signal } = this.#options;
    const examples = [...train, ...Array<readonly Example[]>(choices.labelNames).fill(names).flat()];
    const length = train.reduce((sum, { state }) => sum + lengthOf(state), 0) / Math.max(1, train.length) || 1;
    const vectors = new Float32Array(examples.length * width);
    for (const [row, { state }] of examples.entries()) vectors.set(unitVector(state), row * width);
    const targets = examples.map((row) => targetOf(kind, row));
    const link = linkOf(kind);
    const rules = { link, labelSmoothing: 0, ...(balanced && { classWeights: balancedWeights(targets, outputs) }) };
    const { feeds, weight } = lossTargets(targets, outputs, rules);
    // The loss is a mean; scikit-learn's is a sum.
    const losses = weight * (link === 'softmax' ? 1 : outputs);
    const problem = { vectors, feeds, penalty: 1 / (choices.inverseRegularization * losses) };
    return scaledLayer(await this.#solver.fit(problem, signal, start && scaledLayer(start, length)), 1 / length);
  }

  #trainExpert({ train, names }: Pick<FewRows, 'train' | 'names'>): Promise<LinearExpert> {
    const { kind, outputs } = this.#shape;
    const { lowercase, balanced, seed, signal } = this.#options;
    const examples = [...train, ...names];
    const targets = examples.map((row) => targetOf(kind, row));
    const weighing = balanced && { classWeights: balancedWeights(targets, outputs) };
    const pairs = examples.some(({ text2 }) => text2 !== undefined);
    const options = { outputs, lowercase, seed, signal, pairs, ...weighing };
    return trainLinearExpert(examples.map(joinedText), targets, options);
  }
}

/** Logits are cosines with what the labels are called or described as, times `factor`. @param outputs 1 for two labels */
export function layerOfNames(names: readonly Example[], outputs: number, factor: number): LinearFit {
  const length = names.reduce((sum, { state }) => sum + lengthOf(state), 0) / Math.max(1, names.length) || 1;
  const width = names[0]?.state.length ?? 0;
  const weight = new Float32Array(outputs * width);
  for (const { state, labelIds } of names) {
    const [label = 0] = labelIds;
    const [output, sign] = outputs === 1 ? [0, label === 1 ? 1 : -1] : [label, 1];
    for (const [at, each] of unitVector(state).entries()) {
      weight[output * width + at] = (weight[output * width + at] ?? 0) + (sign * factor * each) / length;
    }
  }
  return { weight, bias: new Float32Array(outputs) };
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
