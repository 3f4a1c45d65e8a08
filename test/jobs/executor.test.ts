import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { GraphExecutor } from '../../src/graph.js';
import { Trainer, type TrainerOptions, ValidationError } from '../../src/index.js';
import { resultOf } from '../support/outcomes.js';
import { aMemoryStorage } from './builders.js';
import { FakeHost } from './fake-host.js';
import { aRequest } from './request.js';

const dataset_url = pathToFileURL('examples/customer-reviews').href;

/** Stands for an executor of the application. */
const withoutDevice: GraphExecutor = {
  specificationVersion: 1,
  compile: () => Promise.reject(new Error('the device is gone')),
};

describe('the executor option', () => {
  it('is a ValidationError beside a device', () => {
    const options = { storage: aMemoryStorage(), executor: withoutDevice, isolation: 'inline' } as const;
    expect(() => new Trainer({ ...options, device: 'auto' })).toThrow(/device: .*executor/);
  });

  it('computes the training in the place of ONNX Runtime', async () => {
    const trainer = new Trainer({
      storage: aMemoryStorage(),
      isolation: 'inline',
      executor: withoutDevice,
    });
    onTestFinished(() => trainer.close());
    const { id } = await resultOf(trainer.createTrainingJob({ ...aRequest, dataset_url }));
    const { status, error } = await resultOf(trainer.waitForTrainingJob(id));
    expect(status).toBe('ERROR');
    expect(error?.message).toContain('the device is gone');
  });

  it.each<Partial<TrainerOptions>>([
    {},
    { isolation: 'worker' },
    { isolation: 'process' },
    { isolation: 'inline', host: new FakeHost() },
  ])('is a ValidationError where training takes place elsewhere: %o', (options) => {
    const create = () => new Trainer({ storage: aMemoryStorage(), executor: withoutDevice, ...options });
    expect(create).toThrow(ValidationError);
    expect(create).toThrow(/executor: .*isolation/);
  });
});
