import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { inferenceService } from '../../../src/inference/index.js';

/** The code of the calling thread can't be imported at first. A module is replaced, so this file has a process of its own. */

const code = vi.hoisted(() => ({ imports: 0 }));

vi.mock('../../../src/inference/inline-worker.js', async (importOriginal) => {
  code.imports += 1;
  if (code.imports === 1) throw new Error('too many open files');
  return importOriginal();
});

const directory = join(import.meta.dirname, '../../../models/catalogue/named-entity-recognition');

it('a request fails where the code that runs models can not be imported, and the next one tries again', async () => {
  const service = inferenceService({ isolation: 'inline', threads: 1 });
  const ask = () => service.predict(directory, ['Angela Merkel lives in Berlin.']);
  await expect(ask()).rejects.toMatchObject({ cause: { message: 'too many open files' } });
  expect((await ask()).results).toHaveLength(1);
  await service.close();
});
