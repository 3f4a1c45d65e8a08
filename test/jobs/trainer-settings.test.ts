import { availableParallelism, totalmem } from 'node:os';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { defaultMemoryLimit } from '../../src/jobs/index.js';
import { trainerSettings } from '../../src/jobs/trainer-options.js';
import { aMemoryStorage } from './builders.js';

describe('the settings of a trainer', () => {
  it('are the documented defaults', () => {
    expect(trainerSettings({ storage: aMemoryStorage() })).toEqual({
      storage: expect.anything(),
      account: { app_id: 'local', tier: 'pro' },
      isolation: 'worker',
      threads: availableParallelism(),
      device: 'cpu',
      memoryLimit: defaultMemoryLimit(),
      seed: 0,
      tuning: {},
      backbone: null,
      allowFileUrls: true,
      allowPrivateAddresses: true,
      checkpointIntervalMs: 30_000,
      maxWaitingJobs: 100,
      runsJobs: true,
    });
  });

  it.each([
    ['threads', [1, 64], [0, 1.5, Number.NaN]],
    ['memoryLimit', [1], [0, -1, 0.5]],
    ['seed', [0, -(2 ** 31), 2 ** 31 - 1], [2 ** 31, 0.5, '1']],
    ['checkpointIntervalMs', [0, 1], [-1, 0.5]],
    ['maxWaitingJobs', [1], [0, 0.5]],
    ['isolation', ['worker', 'process', 'inline'], ['thread', true]],
    ['runsJobs', [true, false], [0, 'no']],
    ['allowFileUrls', [true, false], [0]],
    ['allowPrivateAddresses', [true, false], [0]],
  ])('accept only documented values of %s', (name, accepted, refused) => {
    const storage = aMemoryStorage();
    for (const value of accepted) expect(trainerSettings({ storage, [name]: value })).toMatchObject({ [name]: value });
    for (const value of refused) {
      expect(() => trainerSettings({ storage, [name]: value }), `${value}`).toThrow(
        expect.objectContaining({ code: 'validation', problems: [expect.objectContaining({ loc: [name] })] }),
      );
    }
  });

  it.each([
    ['a container allows less than the machine has', 1000, 750],
    ['a container allows more than the machine has', Number.MAX_SAFE_INTEGER, Math.floor(0.75 * totalmem())],
    ['nothing is limited', 0, Math.floor(0.75 * totalmem())],
  ])('leave a job three quarters of the memory, where %s', (_, constrained, expected) => {
    const limit = vi.spyOn(process, 'constrainedMemory').mockReturnValue(constrained);
    onTestFinished(() => limit.mockRestore());
    expect(defaultMemoryLimit()).toBe(expected);
  });
});
