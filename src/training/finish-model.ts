import type { DatasetWarning } from '../datasets/index.js';
import { calibrate, Evaluator } from '../engine/index.js';
import type { FinishedTask, TrainedExpert } from '../families/index.js';
import type { Quantization } from '../graph/index.js';
import type { RecordedPrecision } from '../model-folder/index.js';
import type { Tuning } from './hyperparameters.js';
import type { LoopInput, TrainedModel } from './training-loop.js';

/** Largest loss on dev with which a model still answers with 8-bit weights: half a point. */
const MAX_LOSS = 0.005;

/** A trained model blended with its expert, in the precision that it will answer in. */
export interface FinishedPrecision extends FinishedTask {
  /** Absent if it answers in float32. */
  readonly quantization?: Quantization;
  readonly precision?: RecordedPrecision;
  /** Why it answers in float32 although 8-bit weights were tried, or asked for. */
  readonly refusal?: DatasetWarning;
}

/**
 * Fits the blend of encoder and expert. Unless `quantize` is false, dev is also evaluated with 8-bit weights; if
 * they hold up, blend and figures are fitted to their outputs, since the model answers with them. An executor
 * that has no such weights leaves the model in float32, with a warning if they were asked for.
 * @throws AbortedError when the signal fires.
 */
export async function finishModel(
  input: LoopInput,
  { weights, fixed, devOutputs }: TrainedModel,
  expert: TrainedExpert,
  { quantize }: Tuning,
): Promise<FinishedPrecision> {
  const { task, encoder, train, dev, executor, signal } = input;
  const plain = await expert.finish(devOutputs, signal);
  if (quantize === false) return plain;
  if (!input.executor.quantizes) return quantize ? { ...plain, refusal: refusal(UNABLE) } : plain;
  const texts = train.map(({ encoding }) => encoding);
  const quantization = await calibrate(executor, task.head, encoder, fixed, texts, signal);
  const evaluator = await Evaluator.create(executor, task.head, encoder, { weights, quantization });
  const outputs = await evaluator.outputs(dev, {}, signal).finally(() => evaluator.release());
  const quantized = await expert.finish(outputs, signal);
  const float32 = plain.blend.blend.value;
  const int8 = quantized.blend.blend.value;
  if (int8 >= float32 - MAX_LOSS) {
    return { ...quantized, quantization, precision: { float32, int8, answers: 'int8' } };
  }
  const precision = { float32, int8, answers: 'float32' } as const;
  return { ...plain, precision, refusal: refusal(costOf(float32 - int8)) };
}

const UNABLE = 'the executor stores no weights in 8 bits';

const costOf = (loss: number): string => `8-bit weights would cost ${(100 * loss).toFixed(1)} points on dev`;

function refusal(reason: string): DatasetWarning {
  return {
    kind: 'float32_kept',
    count: 1,
    message: `${reason}, so the model answers in float32`,
    examples: [],
  };
}
