import { it } from 'vitest';
import { postgresStorage } from '../../src/postgres/index.js';
import { storageContract } from '../../src/testing.js';
import { describeWithPostgres } from './private-server.js';

describeWithPostgres('postgresStorage', (server) => {
  const create = () => postgresStorage(server.connectionString, { schema: server.newSchema() });
  for (const { name, run } of storageContract(create)) it(name, run);
});
