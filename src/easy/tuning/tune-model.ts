import { AbortedError } from '../../errors.js';
import { TemporaryDirectory } from '../../files/index.js';
import { type PlacedModel, placeOf } from '../base-model.js';
import { requireReplaceable } from '../model-output.js';
import { MODEL_FOLDER } from '../open-model.js';
import { judged, placed, summaryOf } from '../training/finish-training.js';
import { nameOf, prepareDataset } from '../training/prepare-dataset.js';
import { OpenTunedModel } from '../tuned-model.js';
import { requireUseful, Search } from './search.js';
import { type TuneOptions, type TuneSettings, tuneSettings } from './tune-options.js';

/** Prepares the data once, searches, and opens the best model. @throws as `tune` fails */
export async function tuneModel(options: TuneOptions): Promise<OpenTunedModel> {
  const startedAt = performance.now();
  const settings = tuneSettings(options);
  const { training } = settings;
  const { output, signal, device, test } = training;
  if (signal?.aborted) throw new AbortedError('the search', { cause: signal.reason });
  if (output !== undefined) await requireReplaceable(output, MODEL_FOLDER, 'output');
  const bases = await placedBases(settings);
  const work = new TemporaryDirectory();
  try {
    const dataset = await prepareDataset(training, await work.path(), { isReadOften: true });
    requireUseful(settings.space, dataset);
    const { trained, run, tuning } = await new Search({ settings, dataset, bases, startedAt }).run();
    const { directory, onClose } = await placed(trained, output);
    const summary = await summaryOf(trained, directory, dataset.type, startedAt);
    const opened = await OpenTunedModel.openTuned(
      { name: nameOf(training), directory },
      { ...summary, seconds: run.seconds },
      { ...tuning, seconds: summary.seconds },
      { service: { device }, onClose, signal },
    );
    return test === undefined ? opened : await judged(opened, test, training);
  } finally {
    await work.remove();
  }
}

/** The folders of everything that a trial may start from, by name. @throws as `base` of `train` fails */
async function placedBases({ training, space }: TuneSettings): Promise<ReadonlyMap<string, PlacedModel>> {
  const { base, modelLoader, signal } = training;
  const names = new Set([...(base === undefined ? [] : [base]), ...(space?.base ?? [])]);
  const found = new Map<string, PlacedModel>();
  for (const name of names) found.set(name, await placeOf(name, { modelLoader, backbones: true, signal }));
  return found;
}
