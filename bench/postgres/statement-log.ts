import type pg from 'pg';

/** What is sent over a pool: each statement once, with values that it came with. */
export class StatementLog {
  readonly #pool: pg.Pool;
  readonly #statements = new Map<string, readonly unknown[]>();

  constructor(pool: pg.Pool) {
    this.#pool = pool;
    pool.on('connect', (client) => {
      const { query } = client;
      Reflect.set(client, 'query', (...args: unknown[]) => {
        const [text, values] = args;
        if (typeof text === 'string' && Array.isArray(values)) this.#statements.set(text, values);
        return Reflect.apply(query, client, args);
      });
    });
  }

  /** How the server runs the statements on records, with the indexes that it uses. Nothing is changed. */
  async plans(): Promise<string[]> {
    const plans: string[] = [];
    for (const [text, values] of [...this.#statements].filter(([text]) =>
      /^(SELECT|WITH|UPDATE|INSERT).*records/s.test(text),
    )) {
      // What writes would fail where it has been done already.
      const how = text.startsWith('SELECT') ? 'ANALYZE, BUFFERS, COSTS OFF' : 'COSTS OFF';
      const client = await this.#pool.connect();
      await client.query('BEGIN');
      const { rows } = await client.query(`EXPLAIN (${how}) ${text}`, [...values]);
      await client.query('ROLLBACK');
      client.release();
      plans.push([text, ...rows.map((row) => `  ${row['QUERY PLAN']}`)].join('\n'));
    }
    return plans;
  }
}
