import type { ModelLoader } from '../model-loader/index.js';
import type { DatasetUploads } from './dataset-uploads.js';
import { type InstalledModel, installedModels } from './installed-models.js';

/** What only the page at / asks for. */
export interface PageServices {
  /** The contract's pretrained models that answer here. */
  installedModels(): Promise<readonly InstalledModel[]>;
  readonly uploads: DatasetUploads;
}

export function pageServices(modelLoader: ModelLoader, uploads: DatasetUploads): PageServices {
  return { installedModels: () => installedModels(modelLoader), uploads };
}
