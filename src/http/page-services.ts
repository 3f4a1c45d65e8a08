import type { Account } from '../contract/index.js';
import type { ModelLoader } from '../model-loader/index.js';
import { DatasetUploads } from './dataset-uploads.js';
import { type InstalledModel, installedModels } from './installed-models.js';
import type { TrainerService } from './services.js';
import type { UploadLimits } from './upload-budget.js';

/** What only the page at / asks for. */
export interface PageServices {
  /** The contract's pretrained models that answer here. */
  installedModels(): Promise<readonly InstalledModel[]>;
  readonly uploads: DatasetUploads;
}

export function pageServices(
  modelLoader: ModelLoader,
  trainer: (account: Account) => TrainerService,
  uploadDirectory: string | undefined,
  uploadLimits: UploadLimits | undefined,
): PageServices {
  return {
    installedModels: () => installedModels(modelLoader),
    uploads: new DatasetUploads(trainer, uploadDirectory, uploadLimits),
  };
}
