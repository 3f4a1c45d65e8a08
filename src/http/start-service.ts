import type { AccessLogEntry } from './access-log.js';
import type { StoredKey } from './api-keys.js';
import type { ServeSettings } from './command-options.js';
import { serveRequests } from './roles/api-role.js';
import type { Backend } from './roles/backend.js';
import { databaseBackend } from './roles/database-backend.js';
import { folderBackend } from './roles/folder-backend.js';
import { serveTraining } from './roles/trainer-role.js';
import type { RunningServer } from './serve.js';

export interface ServiceOptions extends Omit<ServeSettings, 'keys'> {
  readonly keys: readonly StoredKey[];
  /** Who may erase accounts and remove unused models. */
  readonly operatorKeys?: readonly StoredKey[];
  readonly log: (entry: AccessLogEntry) => void;
  /** Is told what an operator should know and the service can live with. Default: nobody is. */
  readonly warn?: (message: string) => void;
}

/**
 * Serves the models in a folder or database to the accounts that have keys. Jobs that an earlier service left go on at
 * once. Its `close` answers what is under way, then stops training; running jobs go on when a service starts again, or
 * in another one of the same database.
 */
export async function startService(options: ServiceOptions): Promise<RunningServer> {
  const backend = await openBackend(options);
  const { queue } = backend;
  const serving =
    queue && options.role === 'trainer'
      ? serveTraining(options, { ...backend, queue })
      : serveRequests(options, backend);
  const server = await serving.catch(async (thrown: unknown) => {
    await backend.close();
    throw thrown;
  });
  return {
    url: server.url,
    async close() {
      await server.close();
      await backend.close();
    },
  };
}

async function openBackend({
  data,
  database,
  schema,
  connections,
  warn = () => undefined,
}: ServiceOptions): Promise<Backend> {
  if (database === undefined) return folderBackend(data);
  return databaseBackend({ data, database, schema, connections, warn });
}
