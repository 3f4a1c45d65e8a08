import * as z from 'zod';
import type { PrivateServer } from './private-server.js';

export interface KnownJob {
  readonly app_id: string;
  readonly id: string;
}

/** The time in which a process ran a job. */
export interface Run extends KnownJob {
  /** In milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
}

const jobSchema = z.object({
  id: z.string(),
  app_id: z.string(),
  status: z.string(),
  attempts: z.number(),
  error: z.string().nullable(),
});
const timesSchema = z.array(z.object({ id: z.string(), times: z.number() }));
const writesSchema = z.object({ id: z.string(), app_id: z.string(), from: z.date(), to: z.date() });

/** The writes of jobs in a schema, recorded by a trigger in the database. */
export class JobHistory {
  readonly #server: PrivateServer;
  readonly #schema: string;

  constructor(server: PrivateServer, schema: string) {
    this.#server = server;
    this.#schema = schema;
  }

  /** Starts to record each write of a job. The tables must exist. */
  async begin(): Promise<void> {
    const schema = this.#schema;
    await this.#server.sql(`
      CREATE TABLE ${schema}.job_history (at timestamptz, id text, app_id text, status text, claim text);
      CREATE FUNCTION ${schema}.note_job() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO ${schema}.job_history SELECT clock_timestamp(), job->>'id', job->>'app_id', job->>'status',
            job->>'claim' FROM (SELECT NEW.value::jsonb AS job) AS of_job;
          RETURN NULL;
        END $$;
      CREATE TRIGGER note_job AFTER INSERT OR UPDATE ON ${schema}.records FOR EACH ROW
        WHEN (NEW.collection = 'jobs') EXECUTE FUNCTION ${schema}.note_job();`);
  }

  /** The current state of the jobs. */
  async jobs() {
    const rows = await this.#server.sql(
      `SELECT value::jsonb->>'id' AS id, value::jsonb->>'app_id' AS app_id, value::jsonb->>'status' AS status,
         value::jsonb->>'error' AS error,
         coalesce((value::jsonb->'attempts'->>'count')::int, 0) AS attempts
       FROM ${this.#schema}.records WHERE collection = 'jobs'`,
    );
    return rows.map((row) => jobSchema.parse(row));
  }

  /** How often each job was made READY, by id. */
  async timesReady(): Promise<Map<string, number>> {
    const rows = await this.#server.sql(
      `SELECT id, count(*)::int AS times FROM ${this.#schema}.job_history WHERE status = 'READY' GROUP BY id`,
    );
    return new Map(timesSchema.parse(rows).map(({ id, times }) => [id, times]));
  }

  /** From the first to the last write of each run. */
  async runs(): Promise<Run[]> {
    const rows = await this.#server.sql(
      `SELECT id, app_id, min(at) AS from, max(at) AS to FROM ${this.#schema}.job_history
       WHERE claim IS NOT NULL GROUP BY id, app_id, claim`,
    );
    return rows.map((row) => {
      const { from, to, ...job } = writesSchema.parse(row);
      return { ...job, from: from.getTime(), to: to.getTime() };
    });
  }
}

/** Pairs of successive runs of one account that overlap. */
export function overlaps(runs: readonly Run[]): [Run, Run][] {
  const sorted = [...runs].sort((a, b) => a.from - b.from);
  return sorted.flatMap((run, at): [Run, Run][] => {
    const next = sorted.slice(at + 1).find(({ app_id }) => app_id === run.app_id);
    return next !== undefined && next.from < run.to ? [[run, next]] : [];
  });
}
