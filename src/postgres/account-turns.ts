import type PgBoss from 'pg-boss';
import { v5 as uuidV5 } from 'uuid';
import * as z from 'zod';
import { StorageError } from '../errors.js';
import type { Database, Query } from './database.js';

/** The queue in pg-boss, and where pg-boss has its tables: beside those of the schema. */
const QUEUE = 'account-turns';
const BOSS_SCHEMA = (schema: string) => `${schema}_boss`;
/** Of the ids that are made of accounts. */
const NAMESPACE = '6f4d8c1e-2f0b-4a57-9a0c-1d6f2f8f7b11';
/** Of an integer in PostgreSQL: pg-boss never gives a turn up. */
const MOST_RETRIES = 2 ** 31 - 1;
/** pg-boss throws away what waits for longer; a hundred years. */
const RETENTION_DAYS = 36_500;
/** Those of accounts whose job somebody left or died with go first. */
const FIRST = 1;

const turnSchema = z.object({ app_id: z.string() });

/**
 * Whose turn it is: one job of pg-boss for each account that has jobs and of which none runs. pg-boss hands each turn to
 * one process alone, the oldest first, and again if that process dies with it.
 *
 * Its own rule for one active job a key (the policy `singleton`) is of no use here: the oldest job of a busy account
 * then keeps `fetch` from finding any other. So an account has one turn at most, by an id that is made of its name.
 */
export class AccountTurns {
  readonly #database: Database;
  readonly #expireInSeconds: number;
  #boss: Promise<PgBoss> | undefined;

  /** @param turnMs a turn that was taken and not used within this time, as its taker died, comes back. */
  constructor(database: Database, turnMs: number) {
    this.#database = database;
    this.#expireInSeconds = turnMs / 1000;
  }

  /** Makes pg-boss's tables where they are missing. @throws StorageError where pg-boss is not installed. */
  async ready(): Promise<void> {
    await this.#started();
  }

  /** Takes the next turn, of an account with jobs as a rule. @returns undefined where there is none, or no connection. */
  async next(): Promise<string | undefined> {
    const boss = await this.#started();
    const [turn] = await boss.fetch(QUEUE);
    return turn && turnSchema.parse(turn.data).app_id;
  }

  /** Gives an account a turn unless it has one, in the caller's transaction, which has locked the account. */
  async give(
    query: Query,
    app_id: string,
    { isFirst = false, afterMs = 0 }: { isFirst?: boolean; afterMs?: number } = {},
  ): Promise<void> {
    const boss = await this.#started();
    const options = {
      ...{
        id: turnOf(app_id),
        singletonKey: app_id,
        expireInSeconds: this.#expireInSeconds,
        retentionDays: RETENTION_DAYS,
      },
      ...{ retryLimit: MOST_RETRIES, retryDelay: 0, priority: isFirst ? FIRST : 0, db: executor(query) },
      ...(afterMs > 0 && { startAfter: `${afterMs} milliseconds` }),
    };
    await boss.send(QUEUE, { app_id }, options);
  }

  /** Takes an account's turn away, in the caller's transaction, which has locked the account. */
  async take(query: Query, app_id: string): Promise<void> {
    const boss = await this.#started();
    await boss.deleteJob(QUEUE, turnOf(app_id), { db: executor(query) });
  }

  /** Brings back what was taken by a process that died before it had a lease. */
  async expire(): Promise<void> {
    await (await this.#started()).expire();
  }

  #started(): Promise<PgBoss> {
    this.#boss ??= this.#start().catch((thrown: unknown) => {
      this.#boss = undefined; // the next call tries again
      throw thrown;
    });
    return this.#boss;
  }

  async #start(): Promise<PgBoss> {
    const { default: Boss } = await loadBoss();
    const boss = new Boss({
      db: { executeSql: (text: string, values?: unknown[]) => this.#execute(text, values) },
      schema: BOSS_SCHEMA(this.#database.schema),
      // Nothing of it runs by itself: the queue polls.
      supervise: false,
      schedule: false,
    });
    boss.on('error', () => undefined); // what fails is told to whoever called
    // Processes that make the queue at the same time would be each other's deadlock.
    await this.#database.transaction(async (query) => {
      const lock = `orchard queue ${this.#database.schema}`;
      await query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [lock]);
      await boss.start();
      await boss.createQueue(QUEUE, { name: QUEUE, policy: 'standard' });
      await this.#keepInOrder(query);
    });
    return boss;
  }

  /** pg-boss would sort all turns that wait for each one that it hands out. */
  async #keepInOrder(query: Query): Promise<void> {
    const schema = `"${BOSS_SCHEMA(this.#database.schema)}"`;
    const [table] = await query<{ name: string }>(
      `SELECT quote_ident(partition_name) AS name FROM ${schema}.queue WHERE name = $1`,
      [QUEUE],
    );
    if (table === undefined) return;
    await query(
      `CREATE INDEX IF NOT EXISTS turns_in_order ON ${schema}.${table.name} (priority DESC, created_on, id)
         WHERE state < 'active'`,
    );
  }

  /** Texts without values may be many statements, in a transaction that a failure must not leave open. */
  async #execute(text: string, values: unknown[] | undefined): Promise<{ rows: object[] }> {
    if (values === undefined) return this.#database.transaction((query) => executor(query).executeSql(text));
    return executor(this.#database.query).executeSql(text, values);
  }
}

/** As pg-boss sends statements. */
function executor(query: Query) {
  return {
    async executeSql(text: string, values: unknown[] = []): Promise<{ rows: object[] }> {
      return { rows: await query<Record<string, unknown>>(text, values) };
    },
  };
}

function turnOf(app_id: string): string {
  return uuidV5(app_id, NAMESPACE);
}

async function loadBoss() {
  try {
    return await import('pg-boss');
  } catch (cause) {
    throw new StorageError('the job queue of PostgreSQL needs the package pg-boss: npm install pg-boss@10', {
      cause,
    });
  }
}
