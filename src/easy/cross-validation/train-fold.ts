import type { Answer } from '../answers.js';
import type { PlacedModel } from '../base-model.js';
import { answersTo } from '../evaluation/index.js';
import { OpenModel } from '../open-model.js';
import type { RowTable } from '../rows/index.js';
import type { FoundType } from '../training/model-type.js';
import { checkedRows, nameOf } from '../training/prepare-dataset.js';
import { runJob } from '../training/run-job.js';
import type { TrainSettings } from '../training/train-options.js';

/** How a fold is trained. */
export interface FoldTraining {
  readonly settings: TrainSettings;
  readonly type: FoundType;
  readonly base: PlacedModel | undefined;
}

/** What its model is asked. */
export interface HeldOut {
  readonly texts: readonly string[];
  /** Question answering: all passages that it searches. */
  readonly passages: readonly string[] | undefined;
}

/**
 * Trains on some rows, with float32 weights unless 8-bit ones are asked for: they cost half a point at most, and to make and
 * check them takes most of the time of a training on few rows.
 * @returns the model's answers to other texts, in their order; nothing else is left of it
 */
export async function trainFold(
  { settings, type: found, base }: FoldTraining,
  train: RowTable,
  { texts, passages }: HeldOut,
): Promise<readonly Answer[]> {
  const { devFraction, seed, signal, device } = settings;
  const all = passages && [...passages, ...(settings.passages ?? [])];
  const name = nameOf(settings);
  const { dataset } = await checkedRows({ train, devFraction, seed, passages: all }, found, signal);
  const { type, family } = found;
  const model = { name, type, family };
  const tuning = { quantize: false, ...settings.tuning };
  const spec = { dataset: { rows: dataset }, model, base };
  const trained = await runJob(spec, { ...settings, tuning });
  try {
    const opened = await OpenModel.open(
      { name, directory: trained.directory },
      { service: { device }, signal },
    );
    return await answersTo(opened, texts, signal).finally(() => opened.close());
  } finally {
    await trained.remove();
  }
}
