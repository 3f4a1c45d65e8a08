import { stat } from 'node:fs/promises';
import { catalogueModels } from '../../model-loader/index.js';

/** The folder of a model: the path itself, else a pretrained model's by its name. @throws NotFoundError */
export async function modelDirectory(model: string): Promise<string> {
  const isFolder = (await stat(model).catch(() => undefined))?.isDirectory() ?? false;
  if (isFolder) return model;
  const { directory } = await catalogueModels().load(model);
  return directory;
}
