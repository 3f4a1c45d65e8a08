import type { LabelledTexts, Row } from '../../../../bench/datasets/labelled-texts.js';
import { bareName, type Encoder, initialize, type ParameterSpec } from '../../../../src/encoder/index.js';
import { createTaskLearner, Evaluator, linearLearningRate, type Weights } from '../../../../src/engine/index.js';
import { classificationTask, type TrainingTask } from '../../../../src/families/index.js';
import { onnxExecutor, volume } from '../../../../src/graph/index.js';
import { Random } from '../../../../src/system/index.js';
import { TextReader, type Tokenizer } from '../../../../src/text/index.js';

interface FineTuning {
  readonly learningRate: number;
  readonly epochs: number;
  readonly batchSize: number;
}

/** Small datasets get small batches and many epochs, large ones few epochs. */
function fineTuningFor(rows: number): FineTuning {
  return rows < 1000
    ? { learningRate: 2e-4, epochs: 30, batchSize: 16 }
    : { learningRate: 3e-4, epochs: 3, batchSize: 32 };
}

const MAX_TOKENS = 64;
const SEED = 1;
const LEARNING = { labelSmoothing: 0.1, balanced: false, tokenDropout: 0 };

export interface StartingEncoder {
  readonly tokenizer: Tokenizer;
  readonly encoder: Encoder;
  /** By BertModel's names; those that are missing start at random. */
  readonly weights: Weights;
  readonly threads: number;
}

/**
 * Fine-tunes an encoder with mean pooling on the training rows.
 * @returns its last accuracy on the dev rows.
 */
export async function devAccuracy(
  texts: LabelledTexts,
  { tokenizer, encoder, weights, threads }: StartingEncoder,
): Promise<number> {
  const task = taskOf(texts);
  const { head } = task;
  const executor = onnxExecutor({ threads });
  const reader = new TextReader(tokenizer, { max_tokens: MAX_TOKENS });
  const train = reader.read(task.train);
  const { learningRate, epochs, batchSize } = fineTuningFor(train.length);
  const { engine, learner, release } = await createTaskLearner({
    executor,
    head,
    encoder,
    pretrained: startingWeights(encoder, head.parameters(encoder), weights),
    train,
    options: LEARNING,
    language: texts.language ?? 'english',
    maskId: reader.specialTokens.mask,
    batchSize,
    seed: SEED,
    signal: new AbortController().signal,
  });
  const totalSteps = epochs * learner.stepsPerEpoch;
  while (learner.state.steps < totalSteps) {
    await learner.step(linearLearningRate(learner.state.steps, { peak: learningRate, totalSteps }));
  }
  const evaluator = await Evaluator.create(executor, head, encoder);
  const outputs = await evaluator.outputs(reader.read(task.dev), engine.parameterFeeds);
  await evaluator.release();
  await release();
  return (await task.evaluate(outputs)).accuracy ?? Number.NaN;
}

function taskOf({ type, labels, train, dev }: LabelledTexts): TrainingTask {
  const numbered = (rows: readonly Row[]) =>
    rows.map((row) => ({ text: row.text, labelIds: row.labels.map((label) => labels.indexOf(label)) }));
  const kind = type === 'binary-text-classification' ? 'binary' : 'multiclass';
  const dataset = { kind, labels, train: numbered(train), dev: numbered(dev), warnings: [] } as const;
  return classificationTask(dataset, 'mean');
}

/**
 * All weights by BertModel's names. Every parameter is drawn, even if it is given, so that the weights that a
 * start lacks are the same in every comparison.
 */
function startingWeights(encoder: Encoder, specs: readonly ParameterSpec[], given: Weights): Weights {
  const random = Random.fromSeed(SEED);
  return new Map(
    specs.map((spec) => {
      const name = bareName(encoder, spec.name);
      const drawn = new Float32Array(volume(spec.shape));
      initialize(spec, drawn, () => random.normal());
      return [name, given.get(name) ?? drawn];
    }),
  );
}
