import type { LabelledTexts, Row } from '../../../../bench/datasets/labelled-texts.js';
import { bertConfigOfSize, initialize } from '../../../../src/encoder/index.js';
import { classificationTask } from '../../../../src/families/papaya/classification-task.js';
import { onnxExecutor } from '../../../../src/graph/index.js';
import { Random } from '../../../../src/random.js';
import { englishTokenizer, loadTokenizer } from '../../../../src/tokenizer/index.js';
import { AdamWOptimizer } from '../../../../src/training/adamw-optimizer.js';
import { Evaluator } from '../../../../src/training/evaluation.js';
import { GradientEngine } from '../../../../src/training/gradient-engine.js';
import { linearLearningRate } from '../../../../src/training/learning-rate-schedule.js';
import { lengthBatches } from '../../../../src/training/length-batches.js';
import { padBatch } from '../../../../src/training/padded-batch.js';

/** An encoder's weights by the names of a bare BertModel. */
export type Weights = ReadonlyMap<string, Float32Array>;

/** measurements.md: under a thousand rows small batches and many epochs, else large and few. */
const settingsFor = (rows: number) =>
  rows < 1000
    ? { learningRate: 2e-4, epochs: 30, batchSize: 16 }
    : { learningRate: 3e-4, epochs: 3, batchSize: 32 };
const MAX_TOKENS = 64;
const SEED = 1;
const MAX_GRADIENT_NORM = 1;

/** Fine-tunes a mini encoder with mean pooling on the training rows. @returns its last accuracy on the dev rows. */
export async function devAccuracy(texts: LabelledTexts, start: Weights, threads: number): Promise<number> {
  const tokenizer = loadTokenizer(englishTokenizer())._unsafeUnwrap();
  const encoder = bertConfigOfSize('mini', tokenizer.vocabularySize);
  const labelIds = (rows: readonly Row[]) =>
    rows.map(({ text, labels }) => ({ text, labelIds: labels.map((label) => texts.labels.indexOf(label)) }));
  const kind = texts.type === 'binary-text-classification' ? 'binary' : 'multiclass';
  const task = classificationTask(
    { kind, labels: texts.labels, train: labelIds(texts.train), dev: labelIds(texts.dev), warnings: [] },
    'mean',
  );
  const windows = (rows: readonly string[]) =>
    rows.map((text, row) => ({ row, encoding: tokenizer.encode(text, { maxLength: MAX_TOKENS }) }));
  const train = windows(task.train);
  const { head } = task;
  const parameters = head.parameters(encoder);
  const { learningRate, epochs, batchSize } = settingsFor(train.length);
  const executor = onnxExecutor();
  const bounds = { batchSize, longest: MAX_TOKENS };
  const engine = await GradientEngine.create({
    ...{ executor, head, encoder, parameters, threads, seed: SEED },
    ...bounds,
  });
  const random = Random.fromSeed(SEED);
  for (const spec of parameters) {
    const { weights } = engine.store.get(spec.name);
    initialize(spec, weights, () => random.normal());
    weights.set(start.get(spec.name.replace(/^bert\./u, '')) ?? weights);
  }
  const optimizer = new AdamWOptimizer(engine.store, engine.kernels);
  const lengths = train.map(({ encoding }) => encoding.ids.length);
  const totalSteps = epochs * Math.ceil(train.length / batchSize);
  for (let epoch = 0; epoch < epochs; epoch += 1) {
    for (const rows of lengthBatches(lengths, { batchSize, seed: SEED, epoch })) {
      const batch = rows.flatMap((row) => train[row] ?? []);
      const encodings = batch.map(({ encoding }) => encoding);
      const targets = head.targets(batch, { labelSmoothing: 0.1, balanced: false });
      await engine.run(padBatch(encodings, encoder.pad_token_id), targets);
      const rate = linearLearningRate(optimizer.steps, { peak: learningRate, totalSteps });
      optimizer.step(rate, { maxGradientNorm: MAX_GRADIENT_NORM })._unsafeUnwrap();
    }
  }
  const evaluator = await Evaluator.create(executor, head, encoder, threads);
  const never = new AbortController().signal;
  const outputs = await evaluator.outputs(windows(task.dev), engine.parameterFeeds, never);
  await evaluator.release();
  await engine.release();
  return task.evaluate(outputs._unsafeUnwrap()).accuracy ?? Number.NaN;
}
