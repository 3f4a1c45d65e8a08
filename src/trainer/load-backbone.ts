import type { ModelLoader, ModelProgress } from '../model-loader/index.js';
import { BACKBONE_FILES, type BackboneSource } from '../training/index.js';

/** The backbone that a trainer's jobs start from. */
export interface BackboneChoice {
  readonly name: string;
  readonly loader: ModelLoader;
}

/** Brings the backbone's files to the local disk. @throws what the loader does */
export async function loadBackbone(
  { name, loader }: BackboneChoice,
  signal: AbortSignal,
  onProgress: (progress: ModelProgress) => void,
): Promise<BackboneSource> {
  const { directory, revision } = await loader.load(name, { files: BACKBONE_FILES, signal, onProgress });
  return { name, directory, ...(revision !== undefined && { revision }) };
}
