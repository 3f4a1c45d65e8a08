import type { ModelConfig, TrainingConfig } from '../../contract/index.js';
import {
  AbortedError,
  DatasetError,
  type OrchardError,
  TrainingError,
  toOrchardError,
} from '../../errors.js';
import { memoryStorage, type Storage } from '../../storage/index.js';
import { type JobInformation, Trainer, type TrainerOptions } from '../../trainer/index.js';
import { createTrainingHost, type TrainingHost } from '../../training/index.js';
import type { PlacedModel } from '../base-model.js';
import { onlyModel } from '../base-model.js';
import type { TrainSettings } from './train-options.js';

/** A job to run: what a training request holds, and what it starts from. */
export interface JobSpec {
  readonly dataset_url: string;
  readonly model: Pick<ModelConfig, 'name' | 'type' | 'family'>;
  readonly base?: PlacedModel | undefined;
}

/** A model in a storage of its own. */
export interface TrainedFolder {
  readonly directory: string;
  readonly job: JobInformation;
  /** Removes it. */
  readonly remove: () => Promise<void>;
}

/**
 * Runs one training job, as the documented Trainer does, in a temporary storage.
 * @throws the error that the job ended with; AbortedError when the signal fires, after the job was stopped
 */
export async function runJob(spec: JobSpec, settings: TrainSettings): Promise<TrainedFolder> {
  const storage = memoryStorage();
  const remove = async () => storage.close?.();
  try {
    return { ...(await train(storage, spec, settings)), remove };
  } catch (thrown) {
    await remove();
    throw thrown;
  }
}

async function train(storage: Storage, { dataset_url, model, base }: JobSpec, settings: TrainSettings) {
  const host = new WatchedHost(createTrainingHost(settings.isolation));
  const trainer = new Trainer(trainerOptions(storage, host, base, settings));
  try {
    const created = await trainer.createTrainingJob({
      dataset_url,
      model_config: { ...model, size: settings.size },
      training_config: trainingConfig(settings),
    });
    if (created.isErr()) throw created.error;
    const { id } = created.value;
    await follow(trainer, id, settings);
    const ended = await trainer.getTrainingJob(id);
    if (ended.isErr()) throw ended.error;
    const directory = await storage.openFolder(id);
    if (ended.value.status === 'READY' && directory !== undefined) return { directory, job: ended.value };
    throw host.failure ?? failureOf(ended.value);
  } finally {
    await trainer.close();
    await host.close();
  }
}

/** Until the job has ended; a signal that fires, or a listener that throws, stops it. */
async function follow(trainer: Trainer, id: string, { onProgress, signal }: TrainSettings): Promise<void> {
  try {
    for await (const event of trainer.watch(id, signal && { signal })) onProgress?.(event);
  } catch (thrown) {
    await trainer.cancelTrainingJob(id);
    if (signal?.aborted) throw new AbortedError('the training', { cause: signal.reason });
    throw thrown;
  }
}

/** A job's record keeps what its error says; where its run threw it here, the error itself is known. */
class WatchedHost implements TrainingHost {
  failure: OrchardError | undefined;
  readonly #host: TrainingHost;

  constructor(host: TrainingHost) {
    this.#host = host;
  }

  async run(...args: Parameters<TrainingHost['run']>): ReturnType<TrainingHost['run']> {
    try {
      return await this.#host.run(...args);
    } catch (thrown) {
      this.failure = toOrchardError(thrown, 'training');
      throw thrown;
    }
  }

  close(): Promise<void> {
    return this.#host.close();
  }
}

function failureOf({ status, error }: JobInformation): OrchardError {
  if (error?.problems !== undefined) return new DatasetError(error.problems);
  return new TrainingError(error?.message ?? `the training job ended as ${status}`);
}

function trainerOptions(
  storage: Storage,
  host: TrainingHost,
  base: PlacedModel | undefined,
  { seed, tuning, device, threads, memoryLimit }: TrainSettings,
): TrainerOptions {
  return {
    storage,
    host,
    seed,
    device,
    ...(tuning !== undefined && { tuning }),
    ...(threads !== undefined && { threads }),
    ...(memoryLimit !== undefined && { memoryLimit }),
    // The name stands in the model's card; where the folder lies is the application's own business.
    ...(base !== undefined && { backbone: base.name, modelLoader: onlyModel(base) }),
  };
}

function trainingConfig(settings: TrainSettings): TrainingConfig {
  const { epochs, learningRate, batchSize, language, augment, pretrained, lowercase } = settings;
  return {
    num_epochs: epochs,
    learning_rate: learningRate,
    batch_size: batchSize,
    language,
    data_augmentation: augment,
    use_pretrained: pretrained,
    ...(lowercase !== undefined && { preprocessing: { lowercase } }),
  };
}
