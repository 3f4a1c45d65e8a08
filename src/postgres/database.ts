import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { isConnectionLost, isNotDone, QueryTimeout } from './connection-failure.js';
import { ConnectionPool, type PostgresSource } from './connection-pool.js';
import { type ChannelListener, Listener } from './listener.js';
import { prepareSchema } from './schema.js';
import { withinTime } from './within-time.js';

/** How long one statement may take. */
const QUERY_TIMEOUT_MS = 15_000;
/** How long the server keeps the locks of a transaction whose process says nothing. */
const SILENT_TRANSACTION_MS = 30_000;
/** How often a statement is sent where the connections turn out to be broken. */
const ATTEMPTS = 3;

/** How a statement is sent. */
export interface QueryOptions {
  /** Whether it may run twice: it is sent again if the connection breaks while it runs. Default false. */
  readonly isRepeatable?: boolean;
  /** How long it may take. Default 15 s. */
  readonly timeoutMs?: number;
}

/** Sends one statement. @returns its rows. */
export type Query = <Row extends QueryResultRow>(
  text: string,
  values?: readonly unknown[],
  options?: QueryOptions,
) => Promise<Row[]>;

/** Options of what works on a database. */
export interface DatabaseOptions {
  /** The schema that the tables are in; made where it is missing. a–z, 0–9 and _, at most 40. Default `orchard`. */
  readonly schema?: string;
}

/**
 * One schema of a PostgreSQL database, whose tables are made and brought up to date on first use. Its errors are those
 * of pg and of the network, and never tell the password: who calls says what was being done.
 */
export class Database {
  readonly schema: string;
  readonly #connections: ConnectionPool;
  readonly #listener: Listener;
  #ready: Promise<void> | undefined;

  /** @throws RangeError for a name that is none; StorageError for a connection string that is none. */
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

  /** Host, port and name of the database, for messages. */
  get place(): string {
    return this.#connections.place;
  }

  /** A table's name as statements have it, with its schema. */
  table(name: string): string {
    return `"${this.schema}".${name}`;
  }

  /** The channel of this schema for notifications of one kind. */
  channel(kind: string): string {
    return `${this.schema}:${kind}`;
  }

  /** The pool of connections, for libraries that want one; the tables are there. */
  async pool(): Promise<Pool> {
    await this.ready();
    return this.#connections.get();
  }

  /** Makes the tables and brings them up to date, once. */
  ready(): Promise<void> {
    this.#ready ??= this.#inTransaction((query) => prepareSchema(query, this.schema)).catch(
      (thrown: unknown) => {
        this.#ready = undefined; // the next call tries again
        throw thrown;
      },
    );
    return this.#ready;
  }

  /** Sends one statement, on any connection. */
  readonly query: Query = async <Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    options: QueryOptions = {},
  ) => {
    await this.ready();
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#withConnection((client) => send<Row>(client, text, values, options));
      } catch (thrown) {
        const mayRepeat = options.isRepeatable ? isConnectionLost(thrown) : isNotDone(thrown);
        if (!mayRepeat || thrown instanceof QueryTimeout || attempt === ATTEMPTS) throw thrown;
      }
    }
  };

  /** Does the work in one transaction, which is undone if it fails. */
  async transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    await this.ready();
    return this.#inTransaction(work);
  }

  /** Listens on a channel until what it returns is called, whatever becomes of the connection. */
  listen(channel: string, listener: ChannelListener): () => void {
    return this.#listener.listen(channel, listener);
  }

  /** Ends what was begun here; a pool that was given stays open. Idempotent. */
  async close(): Promise<void> {
    this.#listener.close();
    await this.#connections.close();
  }

  #inTransaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.#withConnection(async (client) => {
      await send(
        client,
        `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = ${SILENT_TRANSACTION_MS}`,
      );
      try {
        const result = await work((text, values, options) => send(client, text, values, options));
        await send(client, 'COMMIT');
        return result;
      } catch (thrown) {
        if (!isConnectionLost(thrown)) await send(client, 'ROLLBACK');
        throw thrown;
      }
    });
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

/** One statement on one connection, which must be given up after a {@link QueryTimeout}. */
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
