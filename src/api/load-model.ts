import { ResultAsync } from 'neverthrow';
import * as z from 'zod';
import { implementation, type OrchardError, toOrchardError, validate } from '../contract/index.js';
import type { ServiceOptions } from '../inference/index.js';
import { findModel, type ModelLoader } from '../models/index.js';
import type { Answer, AnswerOf } from './answers.js';
import type { Model } from './model.js';
import { OpenModel } from './open-model.js';

/** Options of {@link loadModel}. */
export interface LoadModelOptions extends ServiceOptions {
  /** Loads models that are not folders. Default: the catalogue and, for `owner/name`, the Hugging Face Hub. */
  readonly modelLoader?: ModelLoader;
  /** Stops the loading. */
  readonly signal?: AbortSignal | undefined;
}

const nameSchema = z.string().min(1, 'the name is empty; give a folder, or the name of a model');
const loaderSchema = implementation<ModelLoader>(['load'], 'pass a model loader, such as hubModels()');

/**
 * Opens a model: a folder that `train`, `save` or the Trainer wrote, or a pretrained model by its name. Fails with a
 * ValidationError, a NotFoundError that lists what exists, a ModelFolderError, a ModelDownloadError, a MemoryLimitError or
 * an AbortedError.
 * @param model the path of a folder, or a name.
 */
export function loadModel<const Name extends string>(
  model: Name,
  options?: LoadModelOptions,
): ResultAsync<Model<AnswerOf<Name>>, OrchardError>;
export function loadModel(model: string, options: LoadModelOptions = {}): ResultAsync<Model<Answer>, OrchardError> {
  return ResultAsync.fromPromise(open(model, options), (thrown) => toOrchardError(thrown, `loading model ${model}`));
}

async function open(model: string, options: LoadModelOptions): Promise<Model> {
  const name = validate(nameSchema, model, ['model']);
  const { modelLoader, signal, ...service } = options;
  const loader = modelLoader && validate(loaderSchema, modelLoader, ['modelLoader']);
  return OpenModel.open(await findModel(name, { modelLoader: loader, signal }), { service, signal });
}
