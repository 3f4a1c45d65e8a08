import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { install } from './install.js';

/** An application and a library that it uses may each have a copy of the package: what one makes, the other knows. */

const folder = await mkdtemp(join(tmpdir(), 'orchard-two-copies-'));
afterAll(() => rm(folder, { recursive: true }));

interface Copy {
  readonly index: typeof import('../../src/index.js');
  readonly testing: typeof import('../../src/testing.js');
}

async function aCopy(name: string): Promise<Copy> {
  const library = await install(join(folder, name));
  const load = (file: string) => import(pathToFileURL(join(library, 'dist', file)).href);
  return { index: await load('index.js'), testing: await load('testing.js') };
}
const [{ index: first }, { index: second, testing }] = [await aCopy('first'), await aCopy('second')];

const request = {
  dataset_url: pathToFileURL(join(folder, 'absent.zip')).href,
  model_config: { name: 'fruits', family: 'Papaya', size: 'mini', type: 'binary-text-classification' },
} as const;

describe('two copies of the package', () => {
  it('recognize errors of each other, which are of other classes', async () => {
    const error = new first.DatasetError([]);
    expect(error).not.toBeInstanceOf(second.DatasetError);
    expect(second.isOrchardError(error)).toBe(true);
  });

  it('know the conflicts of storages of each other', async () => {
    for (const { run } of testing.storageContract(() => first.memoryStorage())) await run();
  });

  it('write a record again that was written through the other in between', async () => {
    const storage = first.fileStorage(join(folder, 'storage'));
    const trainer = new second.Trainer({ storage });
    onTestFinished(async () => {
      await trainer.close();
      await storage.close();
    });
    const ended = trainer.createTrainingJob(request).andThen(({ id }) => trainer.waitForTrainingJob(id));
    const { model } = (await ended)._unsafeUnwrap();
    const write = storage.write.bind(storage);
    storage.write = (collection, key) => {
      storage.write = write;
      return Promise.reject(new first.VersionConflict(collection, key));
    };
    expect((await trainer.deleteModel(model.id)).isOk()).toBe(true);
  });
});
