import { it, onTestFinished } from 'vitest';
import { postgresStorage } from '../../src/postgres/index.js';
import { expectListsAsSorted } from '../storage/listing-model.js';
import { expectSameAsMaps, folderSteps, recordSteps } from '../storage/storage-model.js';
import { describeWithPostgres } from './private-server.js';

const RUNS = 15;

describeWithPostgres('postgresStorage', (server) => {
  const aStorage = (schema: string) => {
    const storage = postgresStorage(server.connectionString, { schema });
    onTestFinished(() => storage.close());
    return storage;
  };

  it('lists the same as a sorted array, for any keys, some of them removed', async () => {
    await expectListsAsSorted(() => aStorage(server.newSchema()), RUNS);
  });

  it('does the same as a plain map with records, from two machines in turn', async () => {
    const create = async () => {
      const schema = server.newSchema();
      const machines = [aStorage(schema), aStorage(schema)] as const;
      let steps = 0;
      return () => {
        steps += 1;
        return machines[steps % 2 === 0 ? 0 : 1];
      };
    };
    await expectSameAsMaps(create, recordSteps, RUNS);
  });

  it('does the same as a plain map with folders', async () => {
    const create = async () => {
      const storage = aStorage(server.newSchema());
      return () => storage;
    };
    await expectSameAsMaps(create, folderSteps, RUNS);
  });
});
