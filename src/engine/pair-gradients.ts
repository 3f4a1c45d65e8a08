import type { GraphExecutor, TensorData } from '../graph/index.js';
import { pause } from '../pauses.js';
import type { TextWindow } from '../text-reader/index.js';
import type { BatchGradients, GradientInput } from './batch-gradients.js';
import { CompiledPairLoss } from './compiled-pair-loss.js';
import type { PairExamples, PairHead } from './head.js';
import { padBatch } from './padded-batch.js';
import { rowsPerRun } from './step-memory.js';
import { OUTPUT_GRADIENTS } from './surrogate-loss.js';
import { dropTokens } from './token-dropout.js';

/** Shortest text of a run as a share of its longest; shorter ones go into another run. */
const LEAST_OF_LONGEST = 0.6;

/** Texts of a batch that are encoded together. */
interface Run {
  /** Positions of its texts in the batch. */
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
      copyRows(await engine.outputs(this.#padded(windows)), places, outputs, width);
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

  /** Groups texts of similar length, the longest first. */
  #runs(rows: readonly number[], step: number): Run[] {
    const { train, options, maskId, seed, encoder } = this.#input;
    const windows = rows.flatMap((row) => train[row] ?? []);
    const encodings = windows.map(({ encoding }) => encoding);
    const dropped = dropTokens(encodings, options.tokenDropout, maskId, seed, step);
    const texts = dropped
      .map((encoding, place) => ({ place, window: { row: rows[place] ?? 0, encoding } }))
      .sort((a, b) => b.window.encoding.ids.length - a.window.encoding.ids.length);
    const runs: Run[] = [];
    for (let start = 0; start < texts.length; ) {
      const longest = texts[start]?.window.encoding.ids.length ?? 0;
      const most = texts.slice(start, start + rowsPerRun(encoder, longest));
      const run = most.filter(({ window }) => window.encoding.ids.length >= LEAST_OF_LONGEST * longest);
      runs.push({ places: run.map(({ place }) => place), windows: run.map(({ window }) => window) });
      start += run.length;
    }
    return runs;
  }
}

/** Copies the rows of a run to their texts' positions in the batch. */
function copyRows(run: Float32Array, places: readonly number[], batch: Float32Array, width: number): void {
  for (const [row, place] of places.entries()) {
    batch.set(run.subarray(row * width, (row + 1) * width), place * width);
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
  const tensor: TensorData = { type: 'float32', dims: [places.length, width], data: scaled };
  return { feeds: { [OUTPUT_GRADIENTS]: tensor }, weight: 1 };
}
