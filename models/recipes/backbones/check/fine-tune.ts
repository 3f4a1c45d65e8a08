import type { LabelledTexts, Row } from '../../../../bench/datasets/labelled-texts.js';
import { type BertConfig, initialize } from '../../../../src/encoder/index.js';
import { AdamWOptimizer } from '../../../../src/engine/adamw-optimizer.js';
import { Evaluator } from '../../../../src/engine/evaluator.js';
import { GradientEngine } from '../../../../src/engine/gradient-engine.js';
import { linearLearningRate } from '../../../../src/engine/learning-rate-schedule.js';
import { lengthBatches } from '../../../../src/engine/length-batches.js';
import { padBatch } from '../../../../src/engine/padded-batch.js';
import type { TextWindow, TrainingTask } from '../../../../src/families/index.js';
import { classificationTask } from '../../../../src/families/papaya/classification-task.js';
import { onnxExecutor } from '../../../../src/graph/index.js';
import { Random } from '../../../../src/random.js';
import type { Tokenizer } from '../../../../src/tokenizer/index.js';

/** An encoder's weights by the names of a bare BertModel. */
export type Weights = ReadonlyMap<string, Float32Array>;

interface FineTuning {
  readonly learningRate: number;
  readonly epochs: number;
  readonly batchSize: number;
}

/** Small datasets take small batches and many epochs, large ones few. */
function fineTuningFor(rows: number): FineTuning {
  return rows < 1000
    ? { learningRate: 2e-4, epochs: 30, batchSize: 16 }
    : { learningRate: 3e-4, epochs: 3, batchSize: 32 };
}

const MAX_TOKENS = 64;
const SEED = 1;
const TARGET_OPTIONS = { labelSmoothing: 0.1, balanced: false };
const MAX_GRADIENT_NORM = 1;

export interface StartingEncoder {
  readonly tokenizer: Tokenizer;
  readonly config: BertConfig;
  /** Those that are missing start at random. */
  readonly weights: Weights;
  readonly threads: number;
}

/** Fine-tunes an encoder with mean pooling on the training rows. @returns its last accuracy on the dev rows. */
export async function devAccuracy(
  texts: LabelledTexts,
  { tokenizer, config, weights, threads }: StartingEncoder,
): Promise<number> {
  const task = taskOf(texts);
  const windows = (rows: readonly string[]): TextWindow[] =>
    rows.map((text, row) => ({ row, encoding: tokenizer.encode(text, { maxLength: MAX_TOKENS }) }));
  const train = windows(task.train);
  const fineTuning = fineTuningFor(train.length);
  const engine = await startedEngine(task, config, weights, fineTuning.batchSize, threads);
  await fineTune(engine, task, train, config, fineTuning);
  const evaluator = await Evaluator.create(onnxExecutor(), task.head, config, threads);
  const never = new AbortController().signal;
  const outputs = await evaluator.outputs(windows(task.dev), engine.parameterFeeds, never);
  await evaluator.release();
  await engine.release();
  return task.evaluate(outputs).accuracy ?? Number.NaN;
}

function taskOf({ type, labels, train, dev }: LabelledTexts): TrainingTask {
  const numbered = (rows: readonly Row[]) =>
    rows.map((row) => ({ text: row.text, labelIds: row.labels.map((label) => labels.indexOf(label)) }));
  const kind = type === 'binary-text-classification' ? 'binary' : 'multiclass';
  const dataset = { kind, labels, train: numbered(train), dev: numbered(dev), warnings: [] } as const;
  return classificationTask(dataset, 'mean');
}

async function startedEngine(
  { head }: TrainingTask,
  encoder: BertConfig,
  start: Weights,
  batchSize: number,
  threads: number,
): Promise<GradientEngine> {
  const parameters = head.parameters(encoder);
  const engine = await GradientEngine.create({
    executor: onnxExecutor(),
    head,
    encoder,
    parameters,
    batchSize,
    longest: MAX_TOKENS,
    threads,
    seed: SEED,
  });
  const random = Random.fromSeed(SEED);
  for (const spec of parameters) {
    const { weights } = engine.store.get(spec.name);
    initialize(spec, weights, () => random.normal());
    weights.set(start.get(spec.name.replace(/^bert\./u, '')) ?? weights);
  }
  return engine;
}

async function fineTune(
  engine: GradientEngine,
  { head }: TrainingTask,
  train: readonly TextWindow[],
  encoder: BertConfig,
  { learningRate, epochs, batchSize }: FineTuning,
): Promise<void> {
  const optimizer = new AdamWOptimizer(engine.store, engine.kernels);
  const lengths = train.map(({ encoding }) => encoding.ids.length);
  const totalSteps = epochs * Math.ceil(train.length / batchSize);
  for (let epoch = 0; epoch < epochs; epoch += 1) {
    for (const rows of lengthBatches(lengths, { batchSize, seed: SEED, epoch })) {
      const batch = rows.flatMap((row) => train[row] ?? []);
      const encodings = batch.map(({ encoding }) => encoding);
      await engine.run(padBatch(encodings, encoder.pad_token_id), head.targets(batch, TARGET_OPTIONS));
      const rate = linearLearningRate(optimizer.steps, { peak: learningRate, totalSteps });
      optimizer.step(rate, { maxGradientNorm: MAX_GRADIENT_NORM });
    }
  }
}
