import { join } from 'node:path';
import {
  Database,
  databaseFailure,
  PostgresStorage,
  QueueOnPostgres,
  SharedLimits,
} from '../../postgres/index.js';
import { periodOf } from '../calendar-quota.js';
import type { Backend } from './backend.js';

/** Probes of a database that hangs must not use up all connections. */
const PROBE_TIMEOUT_MS = 2000;

export interface DatabaseSettings {
  /** postgres://… */
  readonly database: string;
  readonly schema?: string | undefined;
  readonly connections?: number | undefined;
  /** For copies of models on this machine. Default: a temporary folder, gone after `close`. */
  readonly data?: string;
  /** Called if the database can't be reached for now. Default: opening it fails. */
  readonly warn?: (message: string) => void;
}

/**
 * A PostgreSQL database that many processes share, each through one pool of connections. Missing tables are made. If the
 * database can't be reached for now, calls fail as unavailable until it can.
 * @throws StorageError for a database that can't be used, such as one of a later release
 */
export async function databaseBackend(settings: DatabaseSettings): Promise<Backend> {
  const { schema, data } = settings;
  const database = new Database(
    settings.database,
    { ...(schema !== undefined && { schema }) },
    settings.connections,
  );
  const limits = new SharedLimits(database);
  const storage = new PostgresStorage(database, {
    ...(data !== undefined && { cache: join(data, 'cache') }),
  });
  const queue = new QueueOnPostgres(database);
  const close = async () => {
    await queue.close();
    await storage.close();
  };
  await opened(database, settings.warn).catch(async (thrown: unknown) => {
    await close();
    throw thrown;
  });
  return {
    storage,
    queue,
    uploads: 'storage',
    limiters(settings) {
      const { quota } = settings;
      const requests = settings.requestsPerMinute;
      return {
        ...(requests && { rateLimiter: limits.perMinute(requests) }),
        ...(quota && { quota: limits.quota(quota.calls, (ms) => periodOf(ms, quota.per)) }),
        wrongKeyLimiter: limits.wrongKeys(settings.wrongKeysPerMinute),
      };
    },
    forget: (app_id) => limits.forget(app_id),
    checks: [
      {
        otherwise: 'the database does not answer',
        check: () => database.query('SELECT 1', [], { timeoutMs: PROBE_TIMEOUT_MS }),
      },
    ],
    close,
  };
}

/** Makes the tables. @throws StorageError if the database can't be used, now or later */
async function opened(database: Database, warn: DatabaseSettings['warn']): Promise<void> {
  try {
    await database.ready();
  } catch (thrown) {
    const failure = databaseFailure(`the database ${database.place} can't be opened`, thrown);
    if (!failure.isUnavailable || warn === undefined) throw failure;
    warn(`${failure.message}; it is tried again with each request`);
  }
}
