import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { orThrow, ValidationError } from '../contract/index.js';
import { type CopiedStorage, copyStorage, type SharedJobQueue } from '../jobs/index.js';
import { Database, databaseFailure, PostgresStorage, QueueOnPostgres, SharedLimits } from '../postgres/index.js';
import { fileStorage, type Storage } from '../storage/index.js';
import type { RateLimiter, WrongKeyLimiter } from './admission.js';
import type { ReadinessCheck } from './probes.js';
import { type CalendarQuota, calendarQuota, periodOf, type Quota } from './quota.js';
import { type OperatorServices, operatorServices } from './services.js';

export interface LimitSettings {
  /** Maximum requests of an account. Default: no limit. */
  readonly requestsPerMinute?: number | undefined;
  /** Maximum inference calls of an account. Default: no limit. */
  readonly quota?: { readonly calls: number; readonly per: 'day' | 'month' } | undefined;
  /** Beyond them, keys from a client's address are not checked. */
  readonly wrongKeysPerMinute: number;
}

interface Limiters {
  readonly rateLimiter?: RateLimiter;
  readonly quota?: Quota;
  readonly wrongKeyLimiter: WrongKeyLimiter;
}

/** Where a service keeps jobs, models and counts, and how its processes divide the jobs. */
export interface Backend {
  readonly storage: Storage;
  /** Decides which process trains a job. Without one, the trainers of this process run all jobs. */
  readonly queue?: SharedJobQueue;
  limiters(settings: LimitSettings): Limiters;
  forget(app_id: string): Promise<void>;
  readonly checks: readonly ReadinessCheck[];
  close(): Promise<void>;
}

/** For one process: a folder of this machine, and counts in memory. */
export function folderBackend(data: string): Backend {
  const storage = fileStorage(data);
  const quotas: CalendarQuota[] = [];
  return {
    storage,
    limiters(settings) {
      const quota = settings.quota && calendarQuota({ ...settings.quota, storage });
      if (quota) quotas.push(quota);
      const requests = settings.requestsPerMinute;
      return {
        ...(requests && { rateLimiter: perMinute(requests) }),
        ...(quota && { quota }),
        wrongKeyLimiter: perMinute(settings.wrongKeysPerMinute),
      };
    },
    forget: async () => undefined, // the quota is in the storage, the rest expires within a minute
    checks: [
      {
        otherwise: 'the folder of jobs and models cannot be read',
        check: () => storage.listKeys('jobs', { limit: 1 }),
      },
    ],
    async close() {
      await Promise.all(quotas.map((each) => each.close()));
      await storage.close();
    },
  };
}

function perMinute(points: number): RateLimiterMemory {
  return new RateLimiterMemory({ points, duration: 60 });
}

/** Keeps probes of a database that hangs from using all connections. */
const PROBE_TIMEOUT_MS = 2000;

interface DatabaseSettings {
  /** postgres://… */
  readonly database: string;
  readonly schema?: string | undefined;
  readonly connections?: number | undefined;
  /** For copies of models on this machine. Default: a temporary folder until `close`. */
  readonly data?: string;
  /** Called if the database is unavailable now. Default: opening it fails then. */
  readonly warn?: (message: string) => void;
}

/**
 * For many processes: a PostgreSQL database, with one pool of connections per process. Creates missing tables. If the
 * database is unavailable now, calls fail as unavailable until it is back.
 * @throws StorageError if the database can't be used, such as one of a later release
 */
export async function databaseBackend(settings: DatabaseSettings): Promise<Backend> {
  const { schema, data } = settings;
  const database = new Database(settings.database, { ...(schema !== undefined && { schema }) }, settings.connections);
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
    warn(`${failure.message}; each request tries again`);
  }
}

/** Where the data of a service is: in the database if there is one, otherwise in the folder. */
export interface DataPlace {
  readonly data: string;
  readonly database?: string | undefined;
  /** Schema in the database. Default orchard. */
  readonly schema?: string | undefined;
}

/** Works on the data of a service, which may be running. @throws ValidationError for a folder without data */
export function withOperator<Value>(
  place: DataPlace,
  work: (operator: OperatorServices) => Promise<Value>,
): Promise<Value> {
  return withBackend(place, (backend) => work(operatorServices(backend)));
}

/** {@link withOperator} for work on the storage. */
export function withStorage<Value>(place: DataPlace, work: (storage: Storage) => Promise<Value>): Promise<Value> {
  return withBackend(place, ({ storage }) => work(storage));
}

async function withBackend<Value>(
  { data, database, schema }: DataPlace,
  work: (backend: Backend) => Promise<Value>,
): Promise<Value> {
  if (database === undefined) checkData(data);
  const backend = database === undefined ? folderBackend(data) : await databaseBackend({ database, schema });
  try {
    return await work(backend);
  } finally {
    await backend.close();
  }
}

/** Copies a folder into an empty schema, compares both by hash. @throws ValidationError for a folder without data */
export async function copyToDatabase({
  data,
  database,
  schema,
}: DataPlace & { readonly database: string }): Promise<CopiedStorage> {
  checkData(data);
  const source = folderBackend(data);
  try {
    const { storage: to, queue, close } = await databaseBackend({ database, schema });
    const copying = orThrow(copyStorage({ from: source.storage, to, ...(queue && { queue }) }));
    return await copying.finally(close);
  } finally {
    await source.close();
  }
}

function checkData(data: string): void {
  if (existsSync(join(data, 'records'))) return;
  const msg = `${data} contains no jobs or models of orchard serve; give the folder of its option --data`;
  throw new ValidationError([{ loc: ['data'], msg, type: 'arguments' }]);
}
