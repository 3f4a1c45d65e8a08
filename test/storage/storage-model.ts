import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import {
  type JsonValue,
  type ListOptions,
  type Storage,
  type StoredRecord,
  VersionConflict,
} from '../../src/storage/index.js';

/** What a storage should hold, kept in plain maps. */
interface Model {
  readonly records: Map<string, StoredRecord>;
  /** Versions that no record has any more. */
  readonly past: string[];
  /** Names of the files staged and published under a key. */
  readonly staged: Map<string, Set<string>>;
  readonly published: Map<string, Set<string>>;
}

/** One step: does the same to storage and model, and compares what comes back. */
export type Step = (storage: Storage, model: Model) => Promise<void>;

const KEYS = ['a', 'A', 'a/b', 'b', '..', '木'.repeat(200), `${'木'.repeat(199)}林`];
const key = fc.constantFrom(...KEYS);
const json = fc.json().map((text): JsonValue => JSON.parse(text));
const fileName = fc.constantFrom('config.json', 'model.onnx', 'README.md');

const write = fc
  .record({
    key,
    value: json,
    expecting: fc.constantFrom('the present', 'absence', 'a past version'),
  })
  .map(
    ({ key, value, expecting }): Step =>
      async (storage, model) => {
        const present = model.records.get(key);
        const expected = {
          'the present': present?.version,
          absence: undefined,
          'a past version': model.past.at(-1),
        }[expecting];
        if (expected !== present?.version) {
          await expect(storage.write('jobs', key, value, expected)).rejects.toThrow(VersionConflict);
          return;
        }
        const version = await storage.write('jobs', key, value, expected);
        expect([...model.past, present?.version]).not.toContain(version);
        if (present !== undefined) model.past.push(present.version);
        model.records.set(key, { key, value, version });
      },
  );

const remove = key.map(
  (key): Step =>
    async (storage, model) => {
      await storage.remove('jobs', key);
      const removed = model.records.get(key);
      if (removed !== undefined) model.past.push(removed.version);
      model.records.delete(key);
    },
);

const read = key.map(
  (key): Step =>
    async (storage, model) => {
      const stored = await storage.read('jobs', key);
      expect(stored && { key, ...stored }).toEqual(model.records.get(key));
    },
);

const list = fc
  .record(
    { prefix: fc.constantFrom('', 'a', 'a/', '木'), after: key, limit: fc.nat(8), reverse: fc.boolean() },
    {
      requiredKeys: [],
    },
  )
  .map(
    (options): Step =>
      async (storage, model) => {
        expect(await storage.list('jobs', options)).toEqual(listed(model, options));
      },
  );

const stage = fc.record({ key, fileName }).map(
  ({ key, fileName }): Step =>
    async (storage, model) => {
      await writeFile(join(await storage.stageFolder(key), fileName), key);
      model.staged.set(key, new Set(model.staged.get(key)).add(fileName));
    },
);

const publish = key.map(
  (key): Step =>
    async (storage, model) => {
      const staged = model.staged.get(key);
      if (staged === undefined) {
        await expect(storage.publishFolder(key)).rejects.toThrow(key);
        return;
      }
      await storage.publishFolder(key);
      model.published.set(key, staged);
      model.staged.delete(key);
    },
);

const discard = key.map(
  (key): Step =>
    async (storage, model) => {
      await storage.discardStaged(key);
      model.staged.delete(key);
    },
);

const removeFolder = key.map(
  (key): Step =>
    async (storage, model) => {
      await storage.removeFolder(key);
      model.staged.delete(key);
      model.published.delete(key);
    },
);

const open = key.map(
  (key): Step =>
    async (storage, model) => {
      const directory = await storage.openFolder(key);
      const found = directory === undefined ? undefined : new Set(await readdir(directory));
      expect(found).toEqual(model.published.get(key));
    },
);

export const recordSteps = fc.array(fc.oneof({ weight: 3, arbitrary: write }, remove, read, list), {
  maxLength: 25,
});
export const folderSteps = fc.array(fc.oneof({ weight: 2, arbitrary: stage }, publish, discard, removeFolder, open), {
  maxLength: 25,
});

/** Does the same steps to new storages and to plain maps. @param create makes one; what it returns opens it for each step. */
export async function expectSameAsMaps(
  create: () => Promise<() => Storage>,
  steps: fc.Arbitrary<Step[]>,
  numRuns: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      const reopen = await create();
      const model = { records: new Map(), past: ['never given'], staged: new Map(), published: new Map() };
      for (const step of steps) await step(reopen(), model);
      await reopen().close();
    }),
    { numRuns },
  );
}

function listed({ records }: Model, { prefix, after, limit, reverse }: ListOptions): StoredRecord[] {
  const ascending = [...records.keys()].sort(); // by UTF-16 code units
  const ordered = reverse ? ascending.reverse() : ascending;
  return ordered
    .filter((key) => prefix === undefined || key.startsWith(prefix))
    .filter((key) => after === undefined || (reverse ? key < after : key > after))
    .slice(0, limit)
    .flatMap((key) => records.get(key) ?? []);
}
