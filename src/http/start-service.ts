import type { Device } from '../device-names.js';
import type { TrainingIsolation } from '../training/index.js';
import type { AccessLogEntry } from './access-log.js';
import type { StoredKey } from './api-keys.js';
import { serveRequests } from './roles/api-role.js';
import type { Backend, LimitSettings } from './roles/backend.js';
import { databaseBackend } from './roles/database-backend.js';
import { folderBackend } from './roles/folder-backend.js';
import { serveTraining } from './roles/trainer-role.js';
import type { RunningServer } from './serve.js';

/** A whole service: where it listens, where its data is, and who may ask how much. docs/http.md has more of each. */
export interface ServiceOptions extends LimitSettings {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** The folder of jobs and models; with a database, of what is kept of it on this machine. */
  readonly data: string;
  /** postgres://… where jobs and models live instead. */
  readonly database?: string | undefined;
  /** What holds them in the database. Default orchard. */
  readonly schema?: string | undefined;
  /** With a database: answer requests, train, or both. Default all. */
  readonly role?: 'api' | 'trainer' | 'all' | undefined;
  /** With a database: jobs that train here at a time. Default 1. */
  readonly jobs?: number | undefined;
  /** With a database: connections of this process to it, at least 5. Default 11. */
  readonly connections?: number | undefined;
  readonly trustProxy: boolean;
  readonly allowPrivateAddresses: boolean;
  /** Where training runs. */
  readonly isolation: TrainingIsolation;
  /** Where training and queries are computed. */
  readonly device: Device;
  /** Threads that answer queries. Default 2. */
  readonly workers?: number | undefined;
  /** Queries that may wait for a thread. Default 2000. */
  readonly maxWaiting?: number | undefined;
  /** Connections at a time. Default 1000. */
  readonly maxConnections?: number | undefined;
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
