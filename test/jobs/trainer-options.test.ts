import { describe, expect, it, onTestFinished } from 'vitest';
import { ValidationError } from '../../src/contract/errors.js';
import { Trainer, type TrainerOptions } from '../../src/jobs/index.js';
import { aMemoryStorage, aTrainer } from './builders.js';

/** The problems of a trainer made by code without types. */
function problemsOf(...options: readonly unknown[]) {
  try {
    const made: Trainer = Reflect.construct(Trainer, options);
    onTestFinished(() => made.close());
  } catch (thrown) {
    if (thrown instanceof ValidationError) return thrown.problems;
    throw thrown;
  }
  return [];
}

describe('the options of a trainer', () => {
  it.each([[[]], [[undefined]], [[{}]], [[{ storage: './models' }]], [[{ storage: { read() {} } }]]])(
    'say what to pass where the storage is missing or none: new Trainer(...%o)',
    (options) => {
      const [problem, ...others] = problemsOf(...options);
      expect(others).toEqual([]);
      expect(problem?.loc).toEqual(['storage']);
      expect(problem?.msg).toContain("such as fileStorage('./models')");
    },
  );

  it('are refused by name where there are none such', () => {
    const storage = aMemoryStorage();
    const [problem] = problemsOf({ storage, modelloader: {}, newId: () => '1' });
    expect(problem).toMatchObject({ type: 'unrecognized_keys' });
    expect(problem?.msg).toMatch(/modelloader.*newId/);
  });

  it.each([
    ['queue', { queue: { add() {} } }, 'without one, the trainer keeps its queue in the storage'],
    ['modelLoader', { modelLoader: 'english-mini' }, 'such as hubModels()'],
    ['host', { host: {} }, 'isolation'],
    ['executor', { executor: 'onnx' }, 'orchard-nlp/graph'],
    ['device', { device: 'gpu' }, 'webgpu'],
  ])('say what to pass where %s is none', (name, option, hint) => {
    const [problem] = problemsOf({ storage: aMemoryStorage(), ...option });
    expect(problem?.loc).toEqual([name]);
    expect(problem?.msg).toContain(hint);
  });

  it.each<[string, Partial<TrainerOptions>]>([
    ['account', { account: { app_id: '', tier: 'pro' } }],
    ['threads', { threads: 0 }],
    ['maxWaitingJobs', { maxWaitingJobs: 0.5 }],
    ['seed', { seed: 2 ** 40 }],
    ['backbone', { backbone: '' }],
    ['tuning', { tuning: { labelSmoothing: 1 } }],
    ['tuning', { tuning: { freeze: 0 } }],
    ['tuning', { tuning: { adapters: { rank: 0 } } }],
    ['tuning', { tuning: { adapters: { targets: [] } } }],
  ])('name %s where it is out of range', (name, options) => {
    expect(() => aTrainer(options)).toThrow(
      expect.objectContaining({ code: 'validation', message: expect.stringContaining(name) }),
    );
  });
});
