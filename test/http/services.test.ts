import { expect, it, onTestFinished } from 'vitest';
import { accountServices } from '../../src/http/index.js';
import type { ServiceOptions } from '../../src/inference/index.js';
import { folderModels } from '../../src/models/index.js';
import { aMemoryStorage } from '../jobs/builders.js';
import { FakeHost } from '../jobs/fake-host.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

function workersOf(inference?: ServiceOptions): number {
  const services = accountServices({
    storage: aMemoryStorage(),
    trainer: { host: new FakeHost() },
    modelLoader: folderModels(temporaryDirectory()),
    inference: { isolation: 'worker', ...inference },
  });
  onTestFinished(() => services.close());
  return services.predictor({ app_id: 'acme', tier: 'pro' }).stats().workers.length;
}

it('answers with two workers, with one on a device that has a name, or with as many as it is told', () => {
  expect(workersOf()).toBe(2);
  expect(workersOf({ device: 'auto' })).toBe(2);
  expect(workersOf({ device: 'webgpu' })).toBe(1);
  expect(workersOf({ device: 'webgpu', workers: 3 })).toBe(3);
});
