import type { ModelConfig, TrainingConfig } from '../contract/index.js';
import { isOrchardError, NotFoundError } from '../errors.js';
import type { ModelLoader, ModelProgress } from '../model-loader/index.js';
import { BACKBONE_FILES, type BackboneSource, trainingLanguage } from '../training/index.js';

/** What a trainer's jobs start from. */
export interface BackboneChoice {
  readonly loader: ModelLoader;
  /** The same for every job. Without it, each starts from what the loader has for its language and size, if anything. */
  readonly name?: string;
}

interface AskedModel {
  readonly model_config: Pick<ModelConfig, 'size'>;
  readonly training_config: Pick<TrainingConfig, 'language'>;
}

/**
 * Brings the backbone's files to the local disk.
 * @returns undefined where there is none for the job's language and size. @throws what the loader does; a NotFoundError
 *   calls it a backbone, whatever the loader calls its models.
 */
export async function loadBackbone(
  { loader, name }: BackboneChoice,
  job: AskedModel,
  signal: AbortSignal,
  onProgress: (progress: ModelProgress) => void,
): Promise<BackboneSource | undefined> {
  const asked = name ?? `${trainingLanguage(job.training_config)}-${job.model_config.size}`;
  const load = loader.load(asked, { files: BACKBONE_FILES, signal, onProgress });
  const loaded = await load.catch(name === undefined ? absent : refuse);
  if (loaded === undefined) return undefined;
  const { directory, revision } = loaded;
  return { name: asked, directory, ...(revision !== undefined && { revision }) };
}

/** @throws what says anything else than that there is no such model. */
function absent(thrown: unknown): undefined {
  if (!isOrchardError(thrown) || thrown.code !== 'not_found') throw thrown;
}

function refuse(thrown: unknown): never {
  if (!isOrchardError(thrown) || thrown.code !== 'not_found') throw thrown;
  throw new NotFoundError('backbone', thrown.id, thrown.hint);
}
