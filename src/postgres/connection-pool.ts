import type { Pool } from 'pg';
import { StorageError } from '../errors.js';
import { connectFailure } from './connection-failure.js';

/** Where a database is: a connection string such as `postgres://user:password@host/database`, or a pool of pg. */
export type PostgresSource = string | Pool;

/** Connections of one pool, those that listen included. */
export const MAX_CONNECTIONS = 11;
const CONNECT_TIMEOUT_MS = 10_000;

/** Connections to one database. A pool that was given is left open, one that was made here is ended. */
export class ConnectionPool {
  /** The database without user and password, for messages. */
  readonly place: string;
  readonly #source: PostgresSource;
  readonly #most: number;
  #pool: Promise<Pool> | undefined;

  /**
   * @param most connections, of a pool that is made here.
   * @throws StorageError for a connection string that is none, without telling it.
   */
  constructor(source: PostgresSource, most = MAX_CONNECTIONS) {
    this.#source = source;
    this.#most = most;
    this.place = typeof source === 'string' ? placeOf(source) : 'of the pool';
  }

  /** The pool. @throws StorageError where pg is not installed. */
  get(): Promise<Pool> {
    this.#pool ??=
      typeof this.#source === 'string' ? newPool(this.#source, this.#most) : givenPool(this.#source);
    return this.#pool;
  }

  /** A connection of one's own, to be released. */
  async connect() {
    const pool = await this.get();
    try {
      const client = await pool.connect();
      // What breaks between two queries would otherwise be an uncaught error; the next query fails by it.
      if (client.listenerCount('error') === 0) client.on('error', () => undefined);
      return client;
    } catch (thrown) {
      throw connectFailure(this.place, thrown);
    }
  }

  /** Ends the connections, if they were made here. */
  async close(): Promise<void> {
    if (typeof this.#source !== 'string' || this.#pool === undefined) return;
    const pool = await this.#pool.catch(() => undefined);
    if (pool !== undefined && !pool.ending) await pool.end();
  }
}

async function newPool(connectionString: string, max: number): Promise<Pool> {
  const { default: pg } = await loadPg();
  const pool = new pg.Pool({
    connectionString,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    allowExitOnIdle: true,
    fallback_application_name: 'orchard-nlp',
  });
  return givenPool(pool);
}

/** An idle connection that breaks, which the pool has forgotten already, would be an uncaught error. */
async function givenPool(pool: Pool): Promise<Pool> {
  if (pool.listenerCount('error') === 0) pool.on('error', () => undefined);
  return pool;
}

async function loadPg() {
  try {
    return await import('pg');
  } catch (cause) {
    throw new StorageError('PostgreSQL needs the package pg: npm install pg', { cause });
  }
}

/** Host, port and database of a connection string. */
function placeOf(connectionString: string): string {
  if (!URL.canParse(connectionString)) throw notAConnectionString();
  const { protocol, host, pathname, searchParams } = new URL(connectionString);
  if (protocol !== 'postgres:' && protocol !== 'postgresql:') throw notAConnectionString();
  return `${searchParams.get('host') ?? host}${pathname}`;
}

function notAConnectionString(): StorageError {
  return new StorageError(
    'the connection string is none that PostgreSQL takes; write postgres://user:password@host:5432/database, with special characters of the password as %xx',
  );
}
