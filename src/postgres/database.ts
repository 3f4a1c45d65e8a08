import type { PoolClient, QueryResultRow } from 'pg';
import { isConnectionLost, isNotExecuted, QueryTimeout, withinTime } from './connection-errors.js';
import { ConnectionPool, type PostgresSource } from './connection-pool.js';
import { type ChannelListener, Listener } from './listener.js';
import { prepareSchema } from './schema.js';

const QUERY_TIMEOUT_MS = 15_000;
/** How long the server keeps the locks of a transaction whose process sends nothing. */
const IDLE_TRANSACTION_MS = 30_000;
/** How often a statement or transaction is attempted if connections turn out to be broken. */
const ATTEMPTS = 3;

export interface QueryOptions {
  /** Whether it may run twice: it is sent again if the connection breaks while it runs. Default false. */
  readonly isRepeatable?: boolean;
  /** Default 15 s. */
  readonly timeoutMs?: number;
}

/** Sends one statement. @returns its rows. */
export type Query = <Row extends QueryResultRow>(
  text: string,
  values?: readonly unknown[],
  options?: QueryOptions,
) => Promise<Row[]>;

/** Options of everything that uses a database. */
export interface DatabaseOptions {
  /** The schema of the tables; created if missing. a–z, 0–9 and _, at most 40. Default `orchard`. */
  readonly schema?: string;
}

/**
 * One schema of a PostgreSQL database, whose tables are made on first use. Its errors are those of pg and of the
 * network, and never contain the password; callers add what was being done.
 */
export class Database {
  readonly schema: string;
  readonly #connections: ConnectionPool;
  readonly #listener: Listener;
  #ready: Promise<void> | undefined;

  /** @throws RangeError for an invalid schema name; StorageError for an invalid connection string. */
  constructor(source: PostgresSource, { schema = 'orchard' }: DatabaseOptions = {}) {
    if (!/^[a-z_][a-z0-9_]{0,39}$/.test(schema)) {
      throw new RangeError(
        `a schema is named in at most 40 of a–z, 0–9 and _, not ${JSON.stringify(schema)}`,
      );
    }
    this.schema = schema;
    this.#connections = new ConnectionPool(source);
    this.#listener = new Listener(() => this.#connections.connect());
  }

  /** A table's name for statements, with its schema. */
  table(name: string): string {
    return `"${this.schema}".${name}`;
  }

  /** The channel of this schema for notifications of one kind. */
  channel(kind: string): string {
    return `${this.schema}:${kind}`;
  }

  /** Makes the tables, once. */
  ready(): Promise<void> {
    const prepare = (client: PoolClient) =>
      inTransaction(client, (query) => prepareSchema(query, this.schema));
    this.#ready ??= this.#withConnection(prepare).catch((thrown: unknown) => {
      this.#ready = undefined; // the next call tries again
      throw thrown;
    });
    return this.#ready;
  }

  /** Sends one statement, on any connection. */
  readonly query: Query = <Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    options: QueryOptions = {},
  ) => this.#attempt((client) => send<Row>(client, text, values, options), options.isRepeatable);

  /** Runs `work` in one transaction, which is rolled back if it fails. */
  transaction<T>(
    work: (query: Query) => Promise<T>,
    { isRepeatable }: Pick<QueryOptions, 'isRepeatable'> = {},
  ): Promise<T> {
    return this.#attempt((client) => inTransaction(client, work), isRepeatable);
  }

  /** Listens on a channel, reconnecting as needed. @returns a function that stops it. */
  listen(channel: string, listener: ChannelListener): () => void {
    return this.#listener.listen(channel, listener);
  }

  /** Ends the connections; a pool that was passed in stays open. Idempotent. */
  async close(): Promise<void> {
    this.#listener.close();
    await this.#connections.close();
  }

  async #attempt<T>(work: (client: PoolClient) => Promise<T>, isRepeatable = false): Promise<T> {
    await this.ready();
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#withConnection(work);
      } catch (thrown) {
        const mayRepeat = isRepeatable ? isConnectionLost(thrown) : isNotExecuted(thrown);
        if (!mayRepeat || thrown instanceof QueryTimeout || attempt === ATTEMPTS) throw thrown;
      }
    }
  }

  async #withConnection<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connections.connect();
    let isLost = false;
    try {
      return await work(client);
    } catch (thrown) {
      isLost = isConnectionLost(thrown);
      throw thrown;
    } finally {
      client.release(isLost);
    }
  }
}

async function inTransaction<T>(client: PoolClient, work: (query: Query) => Promise<T>): Promise<T> {
  const silence = `SET LOCAL idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS}`;
  await send(client, `BEGIN ISOLATION LEVEL READ COMMITTED; ${silence}`);
  try {
    const result = await work((text, values, options) => send(client, text, values, options));
    await send(client, 'COMMIT');
    return result;
  } catch (thrown) {
    if (!isConnectionLost(thrown)) await send(client, 'ROLLBACK');
    throw thrown;
  }
}

/** Sends one statement on one connection, which must be discarded after a {@link QueryTimeout}. */
async function send<Row extends QueryResultRow>(
  client: PoolClient,
  text: string,
  values: readonly unknown[] = [],
  { timeoutMs = QUERY_TIMEOUT_MS }: QueryOptions = {},
): Promise<Row[]> {
  const running = values.length === 0 ? client.query<Row>(text) : client.query<Row>(text, [...values]);
  const { rows } = await withinTime(running, timeoutMs);
  return rows;
}
