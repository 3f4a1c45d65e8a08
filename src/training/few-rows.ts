import { calibrate, statesOf, withoutEnd } from '../engine/index.js';
import type { FewRowsTask, TrainedFewRows } from '../families/index.js';
import type { Quantization } from '../graph/index.js';
import { withPauses } from '../system/index.js';
import type { TextReader, TextWindow } from '../text/index.js';
import type { Backbone } from './backbone.js';
import { frozenWeights, wholeModel } from './frozen-backbone.js';
import type { Effort } from './hyperparameters.js';
import { emptyStats, type LoopInput, type TrainedModel, withEpoch } from './training-loop.js';
import type { TrainingSpec } from './training-run.js';

/** How a run learns from few rows: a linear layer and a lexical expert, over a backbone that stays as it is. */

/** Most rows that are learned from in this way; from more, training the encoder gives better models. */
const MOST_ROWS: Readonly<Record<Effort, number>> = { quick: 20_000, balanced: 500, thorough: 200 };

/** @returns undefined if the run trains the encoder. */
export function fewRowsTaskOf(
  task: LoopInput['task'],
  { training_config, tuning, device }: TrainingSpec,
  backbone: Backbone | undefined,
): FewRowsTask | undefined {
  const { fewRows } = task;
  if (fewRows === undefined || backbone === undefined) return undefined;
  const { num_epochs, learning_rate, batch_size, data_augmentation } = training_config;
  const { effort = 'balanced', classWeights: _, quantize: __, ...ofTheEncoder } = tuning;
  // Each of these asks for the encoder to be trained.
  const asked = [num_epochs, learning_rate, batch_size, data_augmentation || undefined, ...Object.values(ofTheEncoder)];
  if (asked.some((each) => each !== undefined) || (device !== undefined && device !== 'cpu')) return undefined;
  return fewRows.train.length <= MOST_ROWS[effort] ? fewRows : undefined;
}

interface FewRowsInput
  extends Pick<LoopInput, 'task' | 'encoder' | 'executor' | 'hyperparameters' | 'seed' | 'signal'> {
  readonly fewRows: FewRowsTask;
  readonly backbone: Backbone;
  readonly reader: TextReader;
  /** Whether the model may answer with 8-bit weights. */
  readonly quantize: boolean;
}

interface FewRowsResult {
  readonly trained: Omit<TrainedModel, 'devOutputs'>;
  readonly finished: Omit<TrainedFewRows, 'weights'> & { readonly quantization?: Quantization };
}

/** @throws AbortedError soon after the signal fires */
export async function trainFewRows(input: FewRowsInput): Promise<FewRowsResult> {
  const { fewRows, task, encoder, executor, backbone, reader, hyperparameters, seed, signal } = input;
  const startedAt = performance.now();
  const { head } = task;
  const end = head.kind === 'rows' ? head.linearEnd?.(encoder) : undefined;
  if (head.kind !== 'rows' || end === undefined) throw new RangeError('the head does not end in a linear layer');
  const bare = withoutEnd(head, end);
  const weights = frozenWeights(bare.parameters(encoder), backbone);
  const texts = [...fewRows.train, ...fewRows.dev, ...fewRows.names];
  const windows: readonly TextWindow[] = await withPauses(reader.reading(texts), signal);
  const encodings = windows.map(({ encoding }) => encoding);
  // The layer learns from what it will read: the states of the encoder with 8-bit weights, if it answers with them.
  const quantization =
    input.quantize && executor.quantizes
      ? await calibrate(executor, bare, encoder, weights, encodings, signal)
      : undefined;
  const fixed = { ...weights, ...(quantization && { quantization }) };
  const states = await statesOf(windows, { executor, head: bare, encoder, fixed, signal });
  const [dev, names] = [fewRows.train.length, fewRows.train.length + fewRows.dev.length];
  const { weights: layer, ...finished } = await fewRows.learn(
    { train: states.slice(0, dev), dev: states.slice(dev, names), names: states.slice(names) },
    { ...hyperparameters, executor, seed, signal },
  );
  const model = wholeModel(head, encoder, layer, backbone.weights, { frozen: weights });
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  const { loss } = finished;
  const stats = withEpoch(emptyStats(fewRows.train.length, task.mainMetric), {
    elapsedSeconds,
    loss,
    scores: finished.blend.blend,
  });
  return {
    trained: { parameters: head.parameters(encoder), ...model, stats },
    finished: { ...finished, ...(quantization && { quantization }) },
  };
}
