import { Socket } from 'node:net';
import { clearTimeout, setTimeout } from 'node:timers';
import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { StorageError } from '../contract/index.js';
import { connectFailure, isConnectionLost, isNotExecuted, QueryTimeout, withinTime } from './connection-errors.js';
import { prepareSchema } from './schema.js';

/** How often the connection is checked, and how long it has to answer. */
const HEARTBEAT_MS = 5_000;
const RECONNECT_MS = 500;

interface ChannelListener {
  heard(payload: string): void;
  /** The connection is open, for the first time or again. Earlier notifications are lost: look up what they would say. */
  connected(): void;
}

/** One connection that listens on all channels. It opens with the first listener, and reconnects until it is closed. */
class Listener {
  readonly #connect: () => Promise<PoolClient>;
  readonly #listeners = new Map<string, Set<ChannelListener>>();
  #client: PoolClient | undefined;
  #isConnecting = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(connect: () => Promise<PoolClient>) {
    this.#connect = connect;
  }

  listen(channel: string, listener: ChannelListener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    if (this.#client === undefined) void this.#open();
    else this.#subscribe(this.#client, channel, [listener]);
    return () => {
      listeners.delete(listener);
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
    this.#drop();
  }

  async #open(): Promise<void> {
    if (this.#isConnecting || this.#isClosed) return;
    this.#isConnecting = true;
    const client = await this.#connect().catch(() => undefined);
    this.#isConnecting = false;
    if (client === undefined || this.#isClosed) {
      client?.release();
      this.#schedule(RECONNECT_MS, () => this.#open());
      return;
    }
    this.#client = client;
    const lose = () => this.#lose(client);
    client.on('error', lose).on('end', lose);
    client.on('notification', ({ channel, payload = '' }) => {
      for (const { heard } of [...(this.#listeners.get(channel) ?? [])]) heard(payload);
    });
    const { stream } = client.connection;
    if (stream instanceof Socket) stream.unref(); // listening alone doesn't keep the process alive
    for (const [channel, listeners] of this.#listeners) this.#subscribe(client, channel, [...listeners]);
    this.#schedule(HEARTBEAT_MS, () => this.#beat(client));
  }

  #subscribe(client: PoolClient, channel: string, listeners: readonly ChannelListener[]): void {
    client.query(`LISTEN ${client.escapeIdentifier(channel)}`).then(
      () => {
        for (const { connected } of listeners) connected();
      },
      () => this.#lose(client),
    );
  }

  /** Without it, a connection that was cut would go unnoticed for many minutes. */
  async #beat(client: PoolClient): Promise<void> {
    try {
      await withinTime(client.query('SELECT 1'), HEARTBEAT_MS);
      if (this.#client === client) this.#schedule(HEARTBEAT_MS, () => this.#beat(client));
    } catch {
      this.#lose(client);
    }
  }

  #lose(client: PoolClient): void {
    if (this.#client !== client) return;
    this.#drop();
    this.#schedule(RECONNECT_MS, () => this.#open());
  }

  #drop(): void {
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    client?.removeAllListeners('notification');
    client?.release(true);
  }

  #schedule(ms: number, work: () => Promise<void>): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void work(), ms).unref();
  }
}

const MAX_CONNECTIONS = 11;
const CONNECT_TIMEOUT_MS = 10_000;
const NO_CONNECTION = `no connection within ${CONNECT_TIMEOUT_MS} ms: all of the pool are in use, or the server is silent; a storage and a queue keep one each, so the pool's \`max\` must be at least 3`;
const QUERY_TIMEOUT_MS = 15_000;
/** How long the server keeps the locks of a transaction whose process sends nothing. */
const IDLE_TRANSACTION_MS = 30_000;
/** How often a statement or transaction is attempted if connections turn out to be broken. */
const ATTEMPTS = 3;

/** A connection string such as `postgres://user:password@host/database`, or a pool of pg. */
export type PostgresSource = string | Pool;

interface QueryOptions {
  /** Whether it may run twice: it is sent again if the connection breaks while it runs. Default false. */
  readonly isRepeatable?: boolean;
  readonly timeoutMs?: number;
}

export type Query = <Row extends QueryResultRow>(
  text: string,
  values?: readonly unknown[],
  options?: QueryOptions,
) => Promise<Row[]>;

/** Options of everything that uses the database. */
export interface DatabaseOptions {
  /**
   * The schema of the tables, which is created if it is missing: at most 40 characters of a–z, 0–9 and _, not starting
   * with a digit. Default `orchard`.
   */
  readonly schema?: string;
}

/**
 * One schema of a PostgreSQL database, whose tables are made on first use. Its errors are those of pg and of the
 * network, and never contain the password; callers add what was being done.
 */
export class Database {
  readonly schema: string;
  /** Host, port and database without user and password, for messages. */
  readonly place: string;
  readonly #source: PostgresSource;
  readonly #maxConnections: number;
  #pool: Promise<Pool> | undefined;
  readonly #listener: Listener;
  #ready: Promise<void> | undefined;

  /**
   * @param maxConnections of a pool that is made here.
   * @throws RangeError for an invalid schema name; StorageError for an invalid connection string, without telling it.
   */
  constructor(source: PostgresSource, { schema = 'orchard' }: DatabaseOptions = {}, maxConnections = MAX_CONNECTIONS) {
    if (!/^[a-z_][a-z0-9_]{0,39}$/.test(schema)) {
      throw new RangeError(
        `${JSON.stringify(schema)} is not a valid schema name; use at most 40 characters of a–z, 0–9 and _, not starting with a digit`,
      );
    }
    this.schema = schema;
    this.place = typeof source === 'string' ? placeOf(source) : 'of the pool';
    this.#source = source;
    this.#maxConnections = maxConnections;
    this.#listener = new Listener(() => this.#connect());
  }

  table(name: string): string {
    return `"${this.schema}".${name}`;
  }

  channel(kind: string): string {
    return `${this.schema}:${kind}`;
  }

  ready(): Promise<void> {
    const prepare = (client: PoolClient) => inTransaction(client, (query) => prepareSchema(query, this.schema));
    this.#ready ??= this.#withConnection(prepare).catch((thrown: unknown) => {
      this.#ready = undefined; // the next call tries again
      throw thrown;
    });
    return this.#ready;
  }

  readonly query: Query = <Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    options: QueryOptions = {},
  ) => this.#attempt((client) => send<Row>(client, text, values, options), options.isRepeatable);

  transaction<T>(
    work: (query: Query) => Promise<T>,
    { isRepeatable }: Pick<QueryOptions, 'isRepeatable'> = {},
  ): Promise<T> {
    return this.#attempt((client) => inTransaction(client, work), isRepeatable);
  }

  listen(channel: string, listener: ChannelListener): () => void {
    return this.#listener.listen(channel, listener);
  }

  /** Ends the connections; a pool that was passed in stays open. Idempotent. */
  async close(): Promise<void> {
    this.#listener.close();
    if (typeof this.#source !== 'string') return;
    const pool = await this.#pool?.catch(() => undefined);
    if (pool !== undefined && !pool.ending) await pool.end();
  }

  /** A connection to use and release. @throws StorageError if pg is not installed. */
  async #connect(): Promise<PoolClient> {
    this.#pool ??= openPool(this.#source, this.#maxConnections);
    const connecting = (await this.#pool).connect();
    try {
      const client = await withinTime(connecting, CONNECT_TIMEOUT_MS);
      expectBreaks(client); // the application's pool may have opened it earlier
      return client;
    } catch (thrown) {
      if (!(thrown instanceof QueryTimeout)) throw connectFailure(this.place, thrown);
      connecting.then(
        (late) => late.release(),
        () => undefined,
      );
      throw new QueryTimeout(NO_CONNECTION);
    }
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
    const client = await this.#connect();
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

async function openPool(source: PostgresSource, max: number): Promise<Pool> {
  const pool = typeof source === 'string' ? await newPool(source, max) : source;
  // An idle connection that breaks would be an uncaught error; the pool has removed it already.
  if (pool.listenerCount('error') === 0) pool.on('error', () => undefined);
  // One that breaks as soon as it is open does so before connect() has returned it.
  if (pool.listenerCount('connect', expectBreaks) === 0) pool.on('connect', expectBreaks);
  return pool;
}

/** A break between two queries would be an uncaught error; the next query reports it. */
function expectBreaks(client: PoolClient): void {
  if (client.listenerCount('error', ignoreBreak) === 0) client.on('error', ignoreBreak);
}

function ignoreBreak(): void {}

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
