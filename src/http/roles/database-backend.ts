import { join } from 'node:path';
import {
  ConnectionPool,
  Database,
  databaseFailure,
  postgresQueue,
  postgresStorage,
  SharedLimits,
} from '../../postgres/index.js';
import { periodOf } from '../calendar-quota.js';
import type { Backend } from './backend.js';

export interface DatabaseSettings {
  /** postgres://… */
  readonly database: string;
  readonly schema?: string | undefined;
  readonly connections?: number | undefined;
  /** For copies of models on this machine. Default: a temporary folder, gone after `close`. */
  readonly data?: string;
  /** Is told that the database is away for now. Default: then it can't be used. */
  readonly warn?: (message: string) => void;
}

/**
 * A PostgreSQL database that many processes share, through one pool of connections for each. Its tables are made where
 * they are missing. One that is away for now is waited for: until it is there, calls fail as unavailable.
 * @throws StorageError for a database that can't be used, such as one of a later release
 */
export async function databaseBackend(settings: DatabaseSettings): Promise<Backend> {
  const { schema, data } = settings;
  const connections = new ConnectionPool(settings.database, settings.connections);
  const pool = await connections.get();
  const options = { ...(schema !== undefined && { schema }) };
  const database = new Database(pool, options);
  await opened(database, `opening the database ${connections.place}`, settings.warn).catch(
    async (thrown: unknown) => {
      await connections.close();
      throw thrown;
    },
  );
  const limits = new SharedLimits(database);
  const storage = postgresStorage(pool, {
    ...options,
    ...(data !== undefined && { cache: join(data, 'cache') }),
  });
  const queue = postgresQueue(pool, options);
  return {
    storage,
    queue,
    uploads: 'storage',
    limiters(settings) {
      const { quota } = settings;
      const requests = settings['requests-per-minute'];
      return {
        ...(requests && { rateLimiter: limits.perMinute(requests) }),
        ...(quota && { quota: limits.quota(quota.calls, (ms) => periodOf(ms, quota.per)) }),
        wrongKeyLimiter: limits.wrongKeys(settings['wrong-keys-per-minute']),
      };
    },
    forget: (app_id) => limits.forget(app_id),
    checks: [
      { otherwise: 'the database does not answer', check: () => database.query('SELECT 1') },
      { otherwise: 'the job queue is not open', check: () => queue.ready() },
    ],
    async close() {
      await queue.close();
      await storage.close();
      await database.close();
      await connections.close();
    },
  };
}

async function opened(database: Database, doing: string, warn: DatabaseSettings['warn']): Promise<void> {
  try {
    await database.ready();
  } catch (thrown) {
    const failure = databaseFailure(doing, thrown);
    if (!failure.isUnavailable || warn === undefined) throw failure;
    warn(`${failure.message}; it is tried again with each request`);
  }
}
