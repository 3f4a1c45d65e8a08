import { Predictor } from 'orchard-nlp';
import { expect, it } from 'vitest';
import { resultOf } from '../support/outcomes.js';
import { describeWebGpu, itWithTime } from '../support/software-vulkan.js';
import { trainTiny } from './tiny-jobs.js';

/** Jobs and queries on WebGPU, in software, through the public classes and their threads. */

const queries = ['the lamp works', 'the room and the lamp is awful', 'it'];
/** Programs are compiled for some tens of seconds at first, longer on a busy machine. */
const TIMEOUT_MS = 600_000;

describeWebGpu('on WebGPU', () => {
  itWithTime(
    'a job trains in a worker thread, and two threads at once answer with the scores of the processor',
    async () => {
      const { id, job, devices, storage } = await trainTiny({ device: 'webgpu' });
      expect(job.error).toBeUndefined();
      expect(job.status).toBe('READY');
      expect(job.warnings.map(({ kind }) => kind)).not.toContain('device');
      expect(devices).toEqual(['webgpu']);
      await using onCpu = new Predictor({ storage });
      await using onDevice = new Predictor({ storage, device: 'webgpu', workers: 2 });
      const expected = (await resultOf(onCpu.predictCustomBatch(id, queries))).data;
      const asked = Array.from({ length: 8 }, () => resultOf(onDevice.predictCustomBatch(id, queries)));
      for (const { data } of await Promise.all(asked)) {
        for (const [at, { labels, scores }] of data.entries()) {
          expect(labels).toEqual(expected[at]?.labels);
          // The processor may answer with 8-bit weights.
          expect(scores[0]).toBeCloseTo(expected[at]?.scores[0] ?? Number.NaN, 1);
        }
      }
      expect(onDevice.stats().models).toMatchObject([{ device: 'webgpu' }]);
      expect(onCpu.stats().models).toMatchObject([{ device: 'cpu' }]);
    },
    TIMEOUT_MS,
  );

  it(
    'auto leaves a job to the processor, which is faster than a GPU in software, without a warning',
    async () => {
      const { job, devices } = await trainTiny({ device: 'auto', isolation: 'inline' });
      expect(job.status).toBe('READY');
      expect(job.warnings.map(({ kind }) => kind)).not.toContain('device');
      expect(devices).toEqual(['cpu']);
    },
    TIMEOUT_MS,
  );
});
