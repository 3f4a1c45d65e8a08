import type { Pool, PoolClient } from 'pg';
import { StorageError } from '../errors.js';
import { connectFailure } from './connection-errors.js';

/** A connection string such as `postgres://user:password@host/database`, or a pool of pg. */
export type PostgresSource = string | Pool;

/** Connections of one pool, including those that listen. */
const MAX_CONNECTIONS = 11;
const CONNECT_TIMEOUT_MS = 10_000;

/** Connections to one database. Closing ends a pool that was made here, and leaves one that was passed in open. */
export class ConnectionPool {
  /** Host, port and database without user and password, for messages. */
  readonly place: string;
  readonly #source: PostgresSource;
  readonly #max: number;
  #pool: Promise<Pool> | undefined;

  /**
   * @param max connections of a pool that is made here.
   * @throws StorageError for an invalid connection string; the message doesn't contain it.
   */
  constructor(source: PostgresSource, max = MAX_CONNECTIONS) {
    this.#source = source;
    this.#max = max;
    this.place = typeof source === 'string' ? placeOf(source) : 'of the pool';
  }

  /** @throws StorageError if pg is not installed. */
  get(): Promise<Pool> {
    this.#pool ??= this.#open();
    return this.#pool;
  }

  /** A connection to use and release. */
  async connect(): Promise<PoolClient> {
    const pool = await this.get();
    try {
      const client = await pool.connect();
      // A break between two queries would be an uncaught error; the next query reports it.
      if (client.listenerCount('error') === 0) client.on('error', () => undefined);
      return client;
    } catch (thrown) {
      throw connectFailure(this.place, thrown);
    }
  }

  async close(): Promise<void> {
    if (typeof this.#source !== 'string' || this.#pool === undefined) return;
    const pool = await this.#pool.catch(() => undefined);
    if (pool !== undefined && !pool.ending) await pool.end();
  }

  async #open(): Promise<Pool> {
    const pool = typeof this.#source === 'string' ? await newPool(this.#source, this.#max) : this.#source;
    // An idle connection that breaks would be an uncaught error; the pool has removed it already.
    if (pool.listenerCount('error') === 0) pool.on('error', () => undefined);
    return pool;
  }
}

async function newPool(connectionString: string, max: number): Promise<Pool> {
  const { default: pg } = await import('pg').catch((cause: unknown) => {
    throw new StorageError('PostgreSQL needs the package pg: npm install pg', { cause });
  });
  return new pg.Pool({
    connectionString,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    allowExitOnIdle: true,
    fallback_application_name: 'orchard-nlp',
  });
}

function placeOf(connectionString: string): string {
  const url = URL.canParse(connectionString) ? new URL(connectionString) : undefined;
  if (url?.protocol !== 'postgres:' && url?.protocol !== 'postgresql:') {
    throw new StorageError(
      'the connection string is invalid; write postgres://user:password@host:5432/database, with special characters of the password as %xx',
    );
  }
  return `${url.searchParams.get('host') ?? url.host}${url.pathname}`;
}
