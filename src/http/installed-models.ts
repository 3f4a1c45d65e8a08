import { type ModelType, pretrainedModelNames } from '../contract/index.js';
import { CONFIG_FILE, modelFolderConfig, readFolderFile } from '../model-folder/index.js';
import type { ModelLoader } from '../model-loader/index.js';

export interface InstalledModel {
  readonly name: string;
  readonly type: ModelType;
}

/** The pretrained models of the contract that a loader has, in the contract's order. Never rejects. */
export async function installedModels(loader: ModelLoader): Promise<InstalledModel[]> {
  const found = await Promise.all(pretrainedModelNames.map((name) => installedModel(loader, name)));
  return found.flatMap((model) => model ?? []);
}

async function installedModel(loader: ModelLoader, name: string): Promise<InstalledModel | undefined> {
  try {
    const { directory } = await loader.load(name, { files: [CONFIG_FILE] });
    const config: unknown = JSON.parse((await readFolderFile(directory, CONFIG_FILE)).toString('utf8'));
    return { name, type: modelFolderConfig(config, CONFIG_FILE).orchard.type };
  } catch {
    return undefined; // to ask it would fail, so it isn't offered
  }
}
