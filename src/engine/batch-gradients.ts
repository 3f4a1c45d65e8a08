import type { Encoder } from '../encoder/index.js';
import { addGradients, type CompiledGraph, type GraphExecutor, type TensorData } from '../graph/index.js';
import { pause } from '../system/index.js';
import type { TextWindow } from '../text/index.js';
import { dropTokens, longestOf, padBatch, rowsPerRun } from './batches.js';
import type { Engine } from './engine.js';
import type { LossHead, PairExamples, PairHead, PairLoss, RowHead, TargetOptions } from './head.js';
import { gradientOutput, LOSS } from './training-graph.js';

export interface BatchGradients {
  /** Length of each example in tokens; batches are made of examples of similar length. */
  readonly lengths: readonly number[];
  /** @param step optimizer steps taken so far. @returns the mean loss. @throws AbortedError between two runs. */
  compute(batch: readonly number[], step: number): Promise<number>;
  release?(): Promise<void>;
}

export interface LearningOptions extends TargetOptions {
  /** Share of the tokens that are replaced by [MASK] at each step. */
  readonly tokenDropout: number;
}

interface GradientInput {
  readonly engine: Engine;
  readonly encoder: Encoder;
  readonly train: readonly TextWindow[];
  readonly options: LearningOptions;
  readonly maskId: number;
  readonly seed: number;
  readonly tokensPerRun?: number;
  readonly signal: AbortSignal;
}

/**
 * Gradients of a loss in which every text, or window of one, is an example of its own: a batch can be split
 * anywhere, and the gradients of its parts are summed.
 */
export class RowGradients implements BatchGradients {
  readonly lengths: readonly number[];
  readonly #input: GradientInput;
  readonly #head: RowHead;

  constructor(input: GradientInput, head: RowHead) {
    this.#input = input;
    this.#head = head;
    this.lengths = input.train.map(({ encoding }) => encoding.ids.length);
  }

  async compute(batch: readonly number[], step: number): Promise<number> {
    const { engine, encoder, train, options, maskId, seed, signal, tokensPerRun } = this.#input;
    const windows = batch.flatMap((example) => train[example] ?? []);
    const size = engine.accumulates ? rowsPerRun(encoder, longestOf(windows), tokensPerRun) : windows.length;
    let sum = 0;
    let total = 0;
    for (let start = 0; start < windows.length; start += size) {
      await pause(signal);
      const run = windows.slice(start, start + size);
      const targets = this.#head.targets(run, options);
      const encodings = run.map(({ encoding }) => encoding);
      const dropped = dropTokens(encodings, options.tokenDropout, maskId, seed, step, start);
      sum += targets.weight * (await engine.run(padBatch(dropped, encoder), targets));
      total += targets.weight;
      if (engine.accumulates) await engine.accumulate(targets.weight);
    }
    return sum / total;
  }
}

/** Shortest text of a run as a share of its longest; shorter ones go into another run. */
const MIN_SHARE_OF_LONGEST = 0.6;

/** Input of the surrogate loss: the gradient of the true loss with respect to each output. */
const OUTPUT_GRADIENTS = 'output_gradients';

/**
 * A head as part of a training graph whose true loss, over the whole batch, is computed elsewhere. Its own loss is
 * Σ output · gradient, whose gradients with respect to the parameters are those of the true loss.
 */
export function withSurrogateLoss(head: PairHead): LossHead {
  return {
    outputs: (encoder) => head.outputs(encoder),
    logits: (...inputs) => head.logits(...inputs),
    loss(graph, outputs) {
      const gradients = graph.input(OUTPUT_GRADIENTS, 'float32', outputs.shape);
      return graph.reduceSum(graph.multiply(outputs, gradients), [0, 1]);
    },
  };
}

interface Run {
  readonly places: readonly number[];
  readonly windows: readonly TextWindow[];
}

/**
 * Gradients of a loss that compares every text with all others of its batch. The activations of the whole
 * batch are never in memory at once: first its texts are encoded run by run; then the loss of all outputs
 * gives each output's gradient; then every run is encoded again, with the same dropout masks, for its
 * backward pass (gradient caching: Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under
 * Memory Limited Setup"). The result is that of one large run.
 */
export class PairGradients implements BatchGradients {
  readonly lengths: readonly number[];
  readonly #input: GradientInput;
  readonly #examples: PairExamples;
  readonly #loss: CompiledPairLoss;
  readonly #width: number;

  private constructor(input: GradientInput, examples: PairExamples, loss: CompiledPairLoss, width: number) {
    this.#input = input;
    this.#examples = examples;
    this.#loss = loss;
    this.#width = width;
    const lengthOf = (row: number) => input.train[row]?.encoding.ids.length ?? 0;
    this.lengths = examples.rows.map((rows) => Math.max(...rows.map(lengthOf)));
  }

  static async create(
    input: GradientInput,
    head: PairHead,
    examples: PairExamples,
    executor: GraphExecutor,
  ): Promise<PairGradients> {
    const width = head.outputs(input.encoder);
    const loss = await CompiledPairLoss.create(head.pairLoss(width), executor);
    return new PairGradients(input, examples, loss, width);
  }

  async compute(batch: readonly number[], step: number): Promise<number> {
    const { engine, signal } = this.#input;
    const width = this.#width;
    const examples = batch.map((example) => this.#examples.rows[example] ?? []);
    const rows = [...examples.map(([anchor = 0]) => anchor), ...examples.flatMap((each) => each.slice(1))];
    const outputs = new Float32Array(rows.length * width);
    const runs = this.#runs(rows, step);
    const before = engine.dropoutState;
    for (const { places, windows } of runs) {
      await pause(signal);
      const ofRun = await engine.outputs(this.#padded(windows));
      for (const [row, place] of places.entries()) {
        outputs.set(ofRun.subarray(row * width, (row + 1) * width), place * width);
      }
    }
    const feeds = this.#examples.feeds(batch);
    const { loss, gradients } = await this.#loss.run(outputs, examples.length, width, feeds);
    engine.dropoutState = before;
    for (const { places, windows } of runs) {
      await pause(signal);
      await engine.run(this.#padded(windows), surrogateTargets(gradients, places, width, runs.length));
      await engine.accumulate(1);
    }
    return loss;
  }

  release(): Promise<void> {
    return this.#loss.release();
  }

  #padded(windows: readonly TextWindow[]) {
    const encodings = windows.map(({ encoding }) => encoding);
    return padBatch(encodings, this.#input.encoder);
  }

  #runs(rows: readonly number[], step: number): Run[] {
    const { train, options, maskId, seed, encoder, tokensPerRun } = this.#input;
    const windows = rows.flatMap((row) => train[row] ?? []);
    const encodings = windows.map(({ encoding }) => encoding);
    const dropped = dropTokens(encodings, options.tokenDropout, maskId, seed, step);
    const texts = dropped
      .map((encoding, place) => ({ place, window: { row: rows[place] ?? 0, encoding } }))
      .sort((a, b) => b.window.encoding.ids.length - a.window.encoding.ids.length);
    const runs: Run[] = [];
    for (let start = 0; start < texts.length; ) {
      const longest = texts[start]?.window.encoding.ids.length ?? 0;
      const most = texts.slice(start, start + rowsPerRun(encoder, longest, tokensPerRun));
      const run = most.filter(({ window }) => window.encoding.ids.length >= MIN_SHARE_OF_LONGEST * longest);
      runs.push({ places: run.map(({ place }) => place), windows: run.map(({ window }) => window) });
      start += run.length;
    }
    return runs;
  }
}

/**
 * Inputs of the surrogate loss for the texts of a run. Gradients are multiplied by the number of runs, since
 * the engine averages over the runs.
 */
function surrogateTargets(gradients: Float32Array, places: readonly number[], width: number, runs: number) {
  const data = new Float32Array(places.length * width);
  for (const [row, place] of places.entries()) {
    data.set(gradients.subarray(place * width, (place + 1) * width), row * width);
  }
  const scaled = data.map((value) => value * runs);
  return { feeds: { [OUTPUT_GRADIENTS]: matrix(scaled, width) }, weight: 1 };
}

class CompiledPairLoss {
  readonly #compiled: CompiledGraph;
  readonly #pairLoss: PairLoss;

  private constructor(compiled: CompiledGraph, pairLoss: PairLoss) {
    this.#compiled = compiled;
    this.#pairLoss = pairLoss;
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
    anchorCount: number,
    width: number,
    feeds: Readonly<Record<string, TensorData>>,
  ): Promise<{ loss: number; gradients: Float32Array }> {
    const { anchors, candidates } = this.#pairLoss;
    const gradients = new Float32Array(outputs.length);
    const value = new Float32Array(1);
    const split = (array: Float32Array, nameOf: (tensor: string) => string) => ({
      [nameOf(anchors.name)]: matrix(array.subarray(0, anchorCount * width), width),
      [nameOf(candidates.name)]: matrix(array.subarray(anchorCount * width), width),
    });
    await this.#compiled.run(
      { ...split(outputs, (name) => name), ...feeds },
      { ...split(gradients, gradientOutput), [LOSS]: { type: 'float32', dims: [], data: value } },
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
