import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DownloadError } from '../errors.js';
import { stored, UPLOADED_ZIP, uploadFolder, uploadIn } from '../jobs/index.js';
import type { Storage } from '../storage/index.js';
import type { TrainerOptions } from '../trainer/index.js';
import { createTrainingHost, type TrainingHost } from '../training/index.js';

/**
 * The host that these options of trainers name, made to train on uploads of the storage too: it opens them on the machine
 * that it runs on. To be closed after the trainers; a host that was given stays open.
 */
export function uploadReadingHost(
  { host: given, isolation = 'worker', executor }: Partial<TrainerOptions>,
  storage: Storage,
): TrainingHost {
  const host = given ?? createTrainingHost(isolation, executor);
  return {
    async run(spec, options) {
      const url = 'url' in spec.dataset ? spec.dataset.url : '';
      const id = uploadIn(url);
      if (id === undefined) return host.run(spec, options);
      const folder = await stored(() => storage.openFolder(uploadFolder(id)));
      if (folder === undefined) throw new DownloadError(url, 'the upload is no longer there');
      const dataset = { url: pathToFileURL(join(folder, UPLOADED_ZIP)).href };
      return host.run({ ...spec, dataset, allowFileUrls: true }, options);
    },
    close: async () => {
      if (given === undefined) await host.close();
    },
  };
}
