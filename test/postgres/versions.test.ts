import { versionCases } from '../jobs/version-cases.js';
import { aMachine } from './machines.js';
import { describeWithPostgres } from './private-server.js';

describeWithPostgres('names that point to models, in PostgreSQL', (server) => {
  versionCases(async () => {
    const schema = server.newSchema();
    return () => aMachine(server, { schema });
  });
});
