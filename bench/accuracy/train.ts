import { pathToFileURL } from 'node:url';
import {
  type Blend,
  type ModelConfig,
  type Storage,
  Trainer,
  type TrainerOptions,
  type TrainingConfig,
  type Tuning,
} from 'orchard-nlp';

/** Settings that all models of a measurement share. */
export interface Setting {
  /** Where archives and models are put. */
  readonly folder: string;
  readonly size: ModelConfig['size'];
  readonly threads: number;
  readonly seed: number;
  /** A Python that may have scikit-learn. */
  readonly python: string;
  readonly training: TrainingConfig;
  readonly tuning: Tuning;
  /** What to start from. Default: random weights. */
  readonly start?: Pick<TrainerOptions, 'backbone' | 'modelLoader'>;
}

export interface Trained {
  readonly id: string;
  readonly epochs: number;
  readonly seconds: number;
  readonly parts: Blend;
}

/** Trains on an archive through the public API, and prints what each epoch reaches on dev. */
export async function train(
  archive: string,
  model: Pick<ModelConfig, 'type' | 'family' | 'preprocessing'>,
  storage: Storage,
  setting: Setting,
  language = 'english',
): Promise<Trained> {
  const { size, threads, seed, tuning, training, start } = setting;
  const trainer = new Trainer({ storage, threads, seed, tuning, ...start });
  const startedAt = performance.now();
  const { id } = (
    await trainer.createTrainingJob({
      dataset_url: pathToFileURL(archive).href,
      model_config: { name: 'bench', size, ...model },
      training_config: { use_pretrained: start !== undefined, language, ...training },
    })
  )._unsafeUnwrap();
  let parts: Blend | undefined;
  for await (const event of trainer.watch(id)) {
    if (event.type === 'blend') parts = event.parts;
    if (event.type !== 'epoch') continue;
    const { epoch, metrics } = event.stats;
    const { accuracy, f1, topk } = metrics.validation;
    const figures = topk
      ? `dev top-1 ${percent(topk.at(-1)?.[1])}, top-5 ${percent(topk.at(-1)?.[5])}`
      : `dev ${accuracy === undefined ? '' : `accuracy ${percent(accuracy.at(-1))}, `}f1 ${percent(f1?.at(-1))}`;
    console.log(`  epoch ${epoch}: loss ${metrics.training.loss.at(-1)?.toFixed(3)}, ${figures}`);
  }
  const job = (await trainer.getTrainingJob(id))._unsafeUnwrap();
  await trainer.close();
  if (parts === undefined) throw new Error(`${archive}: ${job.status} ${job.error?.message}`);
  return { id, epochs: job.training_stats.epoch, seconds: (performance.now() - startedAt) / 1000, parts };
}

export const percent = (share = 0): number => Number((100 * share).toFixed(1));
