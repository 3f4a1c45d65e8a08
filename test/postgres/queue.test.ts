import { describe, it } from 'vitest';
import { jobQueueContract } from '../../src/testing.js';
import { describeWithPostgres } from './private-server.js';
import { ShortMedium } from './short-queue.js';

describeWithPostgres('the queue on PostgreSQL', (server) => {
  describe.concurrent('as every queue', () => {
    const create = () => new ShortMedium(server.connectionString, server.newSchema());
    for (const { name, run } of jobQueueContract(create)) it(name, run);
  });
});
