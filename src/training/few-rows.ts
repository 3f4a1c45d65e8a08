import { setImmediate as nextTurn } from 'node:timers/promises';
import { AbortedError } from '../contract/index.js';
import {
  calibrate,
  createTaskLearner,
  type FrozenWeights,
  type LinearEnd,
  type LinearFit,
  linearLearningRate,
  statesOf,
  type Weights,
  withoutEnd,
} from '../engine/index.js';
import type { FewRowsChoices, FewRowsTask, FinishedTask, JudgedSplit, TrainedFewRows } from '../families/index.js';
import type { CompileOptions, Quantization } from '../graph/index.js';
import { withPauses } from '../system/index.js';
import type { TextReader, TextWindow } from '../text/index.js';
import type { Backbone } from './backbone.js';
import { frozenWeights, wholeModel } from './frozen-backbone.js';
import { backboneLearningRate, type Effort, WARMUP_FRACTION } from './hyperparameters.js';
import { emptyStats, type LoopInput, type TrainedModel, withEpoch } from './training-loop.js';
import type { TrainingSpec } from './training-run.js';

/**
 * How a run learns from few rows: a linear layer and a lexical expert over the backbone as it is and, where that can pay, over
 * a backbone that was trained for a few steps. The rows judge both in folds (docs/few-rows.md).
 */

interface Limits {
  /** Most rows that are learned from in this way; from more, training the encoder gives better models. */
  readonly mostRows: number;
  /** Fewest rows for which a trained encoder is tried. With fewer, the folds can't tell which is better. */
  readonly fewestTuned: number;
  /** Share of the epochs of the encoder's training, where there are more rows than it is judged by in folds. */
  readonly shareOfMany: number;
}

const LIMITS: Readonly<Record<Effort, Limits>> = {
  quick: { mostRows: 20_000, fewestTuned: Number.POSITIVE_INFINITY, shareOfMany: 0 },
  balanced: { mostRows: 1000, fewestTuned: 40, shareOfMany: 0.5 },
  thorough: { mostRows: 1000, fewestTuned: 16, shareOfMany: 1 },
};

/** @returns undefined if the run trains the encoder on all rows, epoch after epoch. */
export function fewRowsTaskOf(
  { fewRows, head }: LoopInput['task'],
  spec: TrainingSpec,
  backbone: Backbone | undefined,
): FewRowsTask | undefined {
  if (fewRows === undefined || fewRows.readsPairs || backbone === undefined) return undefined;
  if ((spec.device ?? 'cpu') !== 'cpu') return undefined;
  if (head.kind !== 'rows' || head.linearEnd?.(backbone.encoder) === undefined) return undefined;
  const { mostRows } = LIMITS[spec.tuning.effort ?? 'balanced'];
  return leavesMethodOpen(spec) && fewRows.trainRows <= mostRows ? fewRows : undefined;
}

/** Whether the caller asks for nothing that only training in epochs does. */
export function leavesMethodOpen({ training_config, tuning, trainsEncoder = false }: TrainingSpec): boolean {
  const { num_epochs, learning_rate, batch_size, data_augmentation } = training_config;
  const { tokenDropout, labelSmoothing, adapters, freeze } = tuning;
  const ofEpochs = [num_epochs, learning_rate, batch_size, tokenDropout, labelSmoothing, adapters, freeze];
  return !trainsEncoder && !data_augmentation && ofEpochs.every((each) => each === undefined);
}

interface FewRowsInput
  extends Pick<
    LoopInput,
    'task' | 'encoder' | 'executor' | 'hyperparameters' | 'seed' | 'signal' | 'maskId' | 'progress'
  > {
  readonly fewRows: FewRowsTask;
  readonly backbone: Backbone;
  readonly reader: TextReader;
  readonly effort?: Effort | undefined;
  /** Whether the model may answer with 8-bit weights. */
  readonly quantize: boolean;
}

interface FewRowsResult {
  readonly trained: Omit<TrainedModel, 'devOutputs'>;
  readonly finished: FinishedTask &
    Pick<TrainedFewRows, 'judged' | 'warnings'> & {
      readonly choices: FewRowsChoices & { readonly trainedEncoder: boolean };
      readonly quantization?: Quantization;
    };
}

/** Folds where a trained encoder is tried: each takes a training run. */
const FOLDS_OF_TRAININGS = 3;
/** With more rows, one of the folds is enough to judge it, and training takes longer. */
const MOST_TRAINED_IN_FOLDS = 300;

/** @throws AbortedError soon after the signal fires */
export async function trainFewRows(input: FewRowsInput): Promise<FewRowsResult> {
  const { fewRows, seed, effort = 'balanced' } = input;
  const startedAt = performance.now();
  const windows = await withPauses(input.reader.reading(fewRows.texts), input.signal);
  const tries = fewRows.trainRows >= LIMITS[effort].fewestTuned;
  const isLong = fewRows.trainRows > MOST_TRAINED_IN_FOLDS;
  const usual = fewRows.splits(seed);
  const splits = isLong ? usual : fewRows.splits(seed, FOLDS_OF_TRAININGS);
  const tuning = tries ? splits.slice(0, isLong ? 1 : undefined) : [];
  const run = new FewRowsRun(input, windows, tries ? tuning.length + 1 : 0);
  const frozen = await run.frozen(usual);
  let best: Candidate = frozen;
  if (tries) {
    const rival = isLong ? frozen : await run.judgedBy(frozen, splits);
    const tuned = await run.tuned(tuning, rival);
    // What is said of labels stays: an encoder that was trained may have learned wrong ones.
    const { warnings } = frozen.learned;
    const { isKept } = fewRows.encoderTraining;
    if (isKept === 'always' || isBetter(tuned.learned.losses, rival.learned.losses)) {
      best = { ...tuned, learned: { ...tuned.learned, warnings } };
    }
  }
  return run.finish(best, (performance.now() - startedAt) / 1000);
}

/**
 * Whether losses are lower by more than one standard error of their mean: else the simpler model is kept.
 * @param others of the same rows, perhaps followed by those of others
 */
function isBetter(losses: Float64Array, others: Float64Array): boolean {
  const gains = losses.map((loss, row) => (others[row] ?? 0) - loss);
  const mean = gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
  const variance = gains.reduce((sum, gain) => sum + (gain - mean) ** 2, 0) / Math.max(1, gains.length - 1);
  return mean > Math.sqrt(variance / gains.length);
}

interface Candidate {
  readonly learned: TrainedFewRows;
  /** What its layer reads of each text. */
  readonly states: readonly Float32Array[];
  /** Weights of the encoder's layers that were trained, by name. Default: none. */
  readonly layers?: Weights;
  readonly quantization?: Quantization | undefined;
}

class FewRowsRun {
  readonly #input: FewRowsInput;
  readonly #windows: readonly TextWindow[];
  readonly #windowsOfText: ReadonlyMap<number, readonly TextWindow[]>;
  readonly #end: LinearEnd;
  readonly #bare: ReturnType<typeof withoutEnd>;
  /** Steps of training, plus other work, counted as the steps that take as long. */
  readonly #work: number;
  #done = 0;

  /** @param trainings of the encoder */
  constructor(input: FewRowsInput, windows: readonly TextWindow[], trainings: number) {
    const { head } = input.task;
    const end = head.kind === 'rows' ? head.linearEnd?.(input.encoder) : undefined;
    if (head.kind !== 'rows' || end === undefined) throw new RangeError('the head does not end in a linear layer');
    this.#input = input;
    this.#windows = windows;
    this.#windowsOfText = grouped(windows);
    this.#end = end;
    this.#bare = withoutEnd(head, end);
    this.#work =
      STEPS_FOR_THE_REST +
      trainings * stepsFor(input.fewRows.examples([...Array(input.fewRows.trainRows).keys()]).length, input);
  }

  /** Over the backbone as it is. */
  async frozen(splits: Splits): Promise<Candidate> {
    const { states, quantization } = await this.#states(this.#compiled());
    this.#advance(STEPS_FOR_THE_REST / 4);
    const learned = await this.#learn(
      states,
      splits.map((split) => ({ ...split, states })),
    );
    this.#advance(STEPS_FOR_THE_REST / 4);
    return { learned, states, quantization };
  }

  /** The same in other splits. */
  async judgedBy({ learned, states, quantization }: Candidate, splits: Splits): Promise<Candidate> {
    const judging = splits.map((split) => ({ ...split, states }));
    return { learned: await this.#learn(states, judging, learned.choices), states, quantization };
  }

  /** Over a backbone whose layers were trained on the rows; that of each split, on those of the split. @param frozen where it starts */
  async tuned(splits: Splits, { learned: start, quantization: before }: Candidate): Promise<Candidate> {
    const judging: JudgedSplit[] = [];
    for (const [at, split] of splits.entries()) {
      const layers = await this.#train(split.train, start.splitLayers[at] ?? start.layer);
      judging.push({ ...split, states: await this.#statesWith(this.#compiled(layers)) });
    }
    const all = [...Array(this.#input.fewRows.trainRows).keys()];
    const layers = await this.#train(all, start.layer);
    // The tables are those of the backbone still, and take long to pack.
    const { states, quantization } = await this.#states(this.#compiled(layers), before?.tables);
    return { learned: await this.#learn(states, judging, start.choices), states, layers, quantization };
  }

  finish({ learned, layers, quantization }: Candidate, elapsedSeconds: number): FewRowsResult {
    const { task, encoder, backbone, fewRows } = this.#input;
    const { finished, layer, losses, judged, warnings, choices } = learned;
    const frozen = this.#frozenWeights(layers);
    const model = wholeModel(
      task.head,
      encoder,
      new Map([...(layers ?? []), ...this.#named(layer)]),
      backbone.weights,
      { frozen },
    );
    const loss = losses.reduce((sum, each) => sum + each, 0) / Math.max(1, losses.length);
    const figures = { elapsedSeconds, loss, scores: finished.blend.blend };
    const stats = withEpoch(emptyStats(fewRows.trainRows, task.mainMetric), figures);
    return {
      trained: { parameters: task.head.parameters(encoder), ...model, stats },
      finished: {
        ...finished,
        judged,
        warnings,
        choices: { ...choices, trainedEncoder: layers !== undefined },
        ...(quantization && { quantization }),
      },
    };
  }

  /** Those of the backbone that stay as they are: all, unless its layers are trained. */
  #frozenWeights(layers?: Weights): FrozenWeights {
    const { encoder, backbone } = this.#input;
    const specs = this.#bare.parameters(encoder).filter(({ name }) => !layers?.has(name));
    return frozenWeights(specs, backbone);
  }

  #compiled(layers?: Weights): CompileOptions {
    const { weights, stored } = this.#frozenWeights(layers);
    return { weights: new Map([...(weights ?? []), ...(layers ?? [])]), ...(stored && { stored }) };
  }

  /**
   * The head's layer learns from what it will read: the states of the encoder with 8-bit weights, if it answers with them.
   * @param tables of another quantization, if the encoder's are the same.
   */
  async #states(compiled: CompileOptions, tables?: Quantization['tables']) {
    const { executor, encoder, quantize, signal } = this.#input;
    if (!quantize || !executor.quantizes) return { states: await this.#statesWith(compiled), quantization: undefined };
    const encodings = this.#windows.map(({ encoding }) => encoding);
    const found = await calibrate(executor, this.#bare, encoder, compiled, encodings, signal);
    const quantization = { ...found, ...(tables && { tables }) };
    return { states: await this.#statesWith({ ...compiled, quantization }), quantization };
  }

  async #statesWith(fixed: CompileOptions): Promise<readonly Float32Array[]> {
    const { executor, encoder, fewRows, signal } = this.#input;
    const texts = await statesOf(this.#windows, { executor, head: this.#bare, encoder, fixed, signal });
    return fewRows.texts.map((_, text) => fewRows.statesOf(text, texts[text] ?? []));
  }

  /** A layer by the names that the head gives it. */
  #named({ weight, bias }: LinearFit): Weights {
    return new Map([
      [this.#end.weight, weight],
      [this.#end.bias, bias],
    ]);
  }

  #advance(steps: number): void {
    this.#done += steps;
    this.#input.progress.advanced(this.#done, this.#work);
  }

  #learn(
    states: readonly Float32Array[],
    judging: readonly JudgedSplit[],
    choices?: FewRowsChoices,
  ): Promise<TrainedFewRows> {
    const { fewRows, hyperparameters, executor, seed, signal } = this.#input;
    return fewRows.learn(states, judging, { ...hyperparameters, executor, seed, signal, ...(choices && { choices }) });
  }

  /**
   * The encoder's layers after some steps on these rows and the names. Embeddings stay as they are: few rows have few of
   * the words. @param start of the head's layer
   */
  async #train(rows: readonly number[], start: LinearFit): Promise<Weights> {
    const layer = this.#named(start);
    const { fewRows, encoder, executor, backbone, hyperparameters, maskId, seed, signal } = this.#input;
    const examples = fewRows.examples(rows);
    const head = fewRows.head(examples);
    const { engine, learner, release } = await createTaskLearner({
      ...{ executor, head, encoder, maskId, seed, signal, pretrained: backbone.weights },
      frozen: frozenWeights(
        head.parameters(encoder).filter(({ part }) => part === 'embeddings'),
        backbone,
      ),
      train: examples.flatMap((at, row) => (this.#windowsOfText.get(at) ?? []).map((window) => ({ ...window, row }))),
      batchSize: BATCH_SIZE,
      language: hyperparameters.language,
      options: { ...hyperparameters, labelSmoothing: 0, tokenDropout: 0 },
    });
    try {
      await engine.store.setWeights(layer);
      const totalSteps = stepsFor(examples.length, this.#input);
      const schedule = { peak: backboneLearningRate(encoder), totalSteps, warmupFraction: WARMUP_FRACTION };
      for (let step = 0; step < totalSteps; step += 1) {
        await nextTurn();
        if (signal.aborted) throw new AbortedError('the training');
        await learner.step(linearLearningRate(step, schedule));
        this.#advance(1);
      }
      return new Map([...(await engine.store.copyWeights())].filter(([name]) => !layer.has(name)));
    } finally {
      await release();
    }
  }
}

function grouped(windows: readonly TextWindow[]): ReadonlyMap<number, readonly TextWindow[]> {
  const byText = new Map<number, TextWindow[]>();
  for (const window of windows) {
    const own = byText.get(window.row);
    if (own) own.push(window);
    else byText.set(window.row, [window]);
  }
  return byText;
}

type Splits = ReturnType<FewRowsTask['splits']>;

/** Of the encoder's training. */
const BATCH_SIZE = 16;
const LEAST_STEPS = 15;

function stepsFor(
  examples: number,
  { fewRows, effort = 'balanced' }: Pick<FewRowsInput, 'fewRows' | 'effort'>,
): number {
  const share = examples > MOST_TRAINED_IN_FOLDS ? LIMITS[effort].shareOfMany : 1;
  const epochs = fewRows.encoderTraining.epochs * share;
  return Math.max(LEAST_STEPS, Math.ceil(epochs * Math.ceil(examples / BATCH_SIZE)));
}

/** How many steps take as long as all else, roughly. */
const STEPS_FOR_THE_REST = 20;
