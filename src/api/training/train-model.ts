import { AbortedError } from '../../contract/index.js';
import { findModel, requireReplaceable } from '../../models/index.js';
import { TemporaryDirectory } from '../../system/index.js';
import type { TrainedModel } from '../model.js';
import { MODEL_FOLDER } from '../open-model.js';
import { openTrained, placed, summaryOf } from './finish-training.js';
import { nameOf, prepareDataset } from './prepare-dataset.js';
import { trainInFolder } from './train-in-folder.js';
import { type TrainOptions, trainSettings } from './train-options.js';

/** Prepares the data, runs the job, and opens the model. @throws as `train` fails */
export async function trainModel(options: TrainOptions): Promise<TrainedModel> {
  const startedAt = performance.now();
  const settings = trainSettings(options);
  const { output, base, modelLoader, signal } = settings;
  if (signal?.aborted) throw new AbortedError('the training', { cause: signal.reason });
  if (output !== undefined) await requireReplaceable(output, MODEL_FOLDER, 'output');
  const placedBase = base === undefined ? undefined : await findModel(base, { modelLoader, backbones: true, signal });
  const work = new TemporaryDirectory();
  try {
    const { dataset, type } = await prepareDataset(settings, await work.path());
    const name = nameOf(settings);
    const model = { name, type: type.type, family: type.family };
    const trained = await trainInFolder({ dataset, model, base: placedBase }, settings);
    const { directory, onClose } = await placed(trained, output);
    const summary = await summaryOf(trained, directory, type, startedAt);
    return await openTrained({ name, directory }, summary, onClose, settings);
  } finally {
    await work.remove();
  }
}
