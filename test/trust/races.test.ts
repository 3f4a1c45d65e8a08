import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileStorage, memoryStorage } from '../../src/storage/index.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { canExplain } from './races/reference.js';
import { type Operation, ServiceInRace } from './races/service-in-race.js';

/** With TRUST_ROUNDS=500, so many runs; else few. */
const ROUNDS = Number(process.env.TRUST_ROUNDS ?? 0);

const operation: fc.Arbitrary<Operation> = fc.record({
  kind: fc.oneof(
    { weight: 2, arbitrary: fc.constant('create' as const) },
    { weight: 5, arbitrary: fc.constantFrom('cancel', 'delete', 'predict', 'get') },
    { weight: 2, arbitrary: fc.constant('finish' as const) },
  ),
  job: fc.nat(3),
  process: fc.constantFrom(0, 1),
});
type Batch = readonly Operation[] | { readonly restart: 0 | 1 };
const batch: fc.Arbitrary<Batch> = fc.oneof(
  { weight: 8, arbitrary: fc.array(operation, { minLength: 1, maxLength: 5 }) },
  { weight: 1, arbitrary: fc.record({ restart: fc.constantFrom(0, 1) }) },
);
/** First some jobs, of which some are finished, so that all states are met; then whatever comes. */
const program = fc.record({
  jobs: fc.integer({ min: 1, max: 3 }),
  finished: fc.nat(3),
  batches: fc.array(batch, { minLength: 1, maxLength: 6 }),
});
type Program = typeof program extends fc.Arbitrary<infer Value> ? Value : never;

async function play(service: ServiceInRace, { jobs, finished, batches }: Program): Promise<void> {
  const prelude = [...repeated('create', jobs), ...repeated('finish', Math.min(finished, jobs))];
  for (const each of prelude) await service.batch([each]);
  for (const each of batches) {
    if ('restart' in each) await service.restart(each.restart);
    else await service.batch(each);
  }
  await service.settle();
  expect(service.problems).toEqual([]);
}

function repeated(kind: Operation['kind'], times: number): Operation[] {
  return Array.from({ length: times }, (_, n) => ({ kind, job: n, process: n % 2 === 0 ? 0 : 1 }));
}

describe('calls at the same time, on the same jobs, from two processes', () => {
  it('are as if made one after the other, over memoryStorage in any order of its calls', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), program, async (scheduler, program) => {
        const storage = memoryStorage();
        await play(new ServiceInRace(storage, scheduler), program).finally(() => storage.close());
      }),
      { numRuns: ROUNDS || 10 },
    );
  });

  it('are as if made one after the other, over fileStorage', async () => {
    await fc.assert(
      fc.asyncProperty(program, async (program) => {
        const storage = fileStorage(temporaryDirectory());
        await play(new ServiceInRace(storage), program).finally(() => storage.close());
      }),
      { numRuns: Math.ceil(ROUNDS / 10) || 2 },
    );
  });
});

describe('the reference', () => {
  it.each([
    ['OPEN', [{ kind: 'cancel', outcome: 'ok' }], 'CANCELLED', true],
    ['OPEN', [{ kind: 'cancel', outcome: 'ok' }], 'OPEN', false],
    ['OPEN', [{ kind: 'cancel', outcome: 'transition' }], 'CANCELLED', false],
    ['DELETED', [], 'READY', false],
    [
      'READY',
      [
        { kind: 'predict', outcome: 'model_not_ready' },
        { kind: 'delete', outcome: 'ok' },
      ],
      'DELETED',
      false,
    ],
    [
      'READY',
      [
        { kind: 'predict', outcome: 'not_found' },
        { kind: 'delete', outcome: 'ok' },
      ],
      'DELETED',
      true,
    ],
    [
      'OPEN',
      [
        { kind: 'get', outcome: 'CANCELLED' },
        { kind: 'delete', outcome: 'ok' },
      ],
      'DELETED',
      true,
    ],
    [
      'OPEN',
      [
        { kind: 'finish', outcome: 'ok' },
        { kind: 'cancel', outcome: 'transition' },
      ],
      'READY',
      true,
    ],
  ] as const)('knows what can be: from %s by %j to %s: %s', (before, calls, after, expected) => {
    expect(canExplain(before, calls, after)).toBe(expected);
  });
});
