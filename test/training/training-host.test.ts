import { expect, it } from 'vitest';
import { tuningSchema } from '../../src/jobs/index.js';
import { createTrainingHost, type TrainingIsolation, type TrainingSpec } from '../../src/training/index.js';
import { aDirectory } from '../storage/temporary-place.js';

it.each<TrainingIsolation>(['worker', 'process', 'inline'])(
  'a run (%s) whose signal has fired before it begins ends as aborted',
  async (isolation) => {
    const spec: TrainingSpec = {
      id: 'stopped',
      dataset: { url: 'http://127.0.0.1:9/no-such.zip' },
      model_config: { name: 'stopped', type: 'binary-text-classification', family: 'Papaya', size: 'mini' },
      training_config: {},
      directory: await aDirectory(),
      allowFileUrls: false,
      threads: 1,
      seed: 1,
      tuning: tuningSchema.parse({}),
    };
    const host = createTrainingHost(isolation);
    const run = host.run(spec, { signal: AbortSignal.abort(), onEvent: () => undefined });
    await expect(run).rejects.toMatchObject({ code: 'aborted' });
    await host.close();
  },
);
