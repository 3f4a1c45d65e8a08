import { type ParseArgsConfig, parseArgs } from 'node:util';
import * as z from 'zod';
import { accountSchema, validate } from '../contract/index.js';
import { DEVICES } from '../device-names.js';
import { ValidationError } from '../errors.js';

export const USAGE = `Usage:
  orchard serve [options]             serves models over HTTP
    --host <address>                  where to listen (127.0.0.1)
    --port <number>                   (8080)
    --data <folder>                   where jobs and models live; with a database, what is kept of it here (./orchard-data)
    --database <url>                  postgres://… where jobs and models live instead, for services on many machines;
                                      may be in ORCHARD_DATABASE, since other users of a machine see its command lines
    --schema <name>                   what holds them in the database (orchard)
    --role api|trainer|all            with a database: answer requests, train, or both (all)
    --jobs <number>                   with a database: jobs that train here at a time (1)
    --connections <number>            with a database: connections of this process to it (11)
    --keys <file>                     the API keys, as new-key writes them; their JSON may be in ORCHARD_KEYS instead
    --operator-keys <file>            keys of new-key for /operator: erasing accounts, unused models (no such routes)
    --requests-per-minute <number>    most requests of an account (no limit)
    --quota <number>/day|month        most inference calls of an account, such as 10000/month (no limit)
    --wrong-keys-per-minute <number>  beyond them no key from a client's address is looked at (10)
    --trust-proxy                     takes the client's address from x-forwarded-for, as a proxy before this adds it
    --allow-private-addresses         lets dataset_url lead into this machine and its network
    --isolation worker|process        where training runs: a thread, or a process of its own whose end harms nothing (process)
    --device cpu|auto|webgpu|…        where training and queries are computed, as orchard devices lists them (cpu); may be in
                                      ORCHARD_DEVICE
    --workers <number>                threads that answer queries (2)
    --max-waiting <number>            queries that may wait for a thread; with more, requests get a 503 (2000)
    --max-connections <number>        connections at a time (1000)
  orchard new-key --app-id <name> --keys <file> [--tier basic|pro]
                                      adds an API key of an account (of tier pro) to the file, and prints it
  orchard devices                     lists where this machine can compute: each device is tried
`;

const numberSchema = z
  .string()
  .regex(/^\d{1,9}$/, 'give a whole number')
  .transform(Number);

const quotaSchema = z
  .string()
  .regex(/^[1-9]\d{0,11}\/(day|month)$/, 'give inference calls and their period: 10000/month, 500/day')
  .transform((quota): { calls: number; per: 'day' | 'month' } => ({
    calls: Number.parseInt(quota, 10),
    per: quota.endsWith('/day') ? 'day' : 'month',
  }));

export const databaseSchema = z
  .string()
  .regex(/^postgres(ql)?:\/\/./, 'give a URL such as postgres://user@host/name');
/** As PostgreSQL takes a name without quotes. */
export const schemaNameSchema = z
  .string()
  .regex(/^[a-z_][a-z0-9_]{0,39}$/, 'give at most 40 of a–z, 0–9 and _, which begin with no digit');

const serveFields = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  port: numberSchema.pipe(z.int().max(65_535)).default(8080),
  data: z.string().min(1).default('./orchard-data'),
  database: databaseSchema.optional(),
  schema: schemaNameSchema.optional(),
  role: z.enum(['api', 'trainer', 'all'], 'give api, trainer or all').optional(),
  jobs: numberSchema.pipe(z.int().min(1)).optional(),
  // Some listen, for storage and queue; with fewer left, work that needs two would wait for itself.
  connections: numberSchema.pipe(z.int().min(5)).optional(),
  keys: z.string().min(1).optional(),
  'operator-keys': z.string().min(1).optional(),
  'requests-per-minute': numberSchema.pipe(z.int().min(1)).optional(),
  quota: quotaSchema.optional(),
  'wrong-keys-per-minute': numberSchema.pipe(z.int().min(1)).default(10),
  'trust-proxy': z.boolean().default(false),
  'allow-private-addresses': z.boolean().default(false),
  isolation: z.enum(['worker', 'process'], 'give worker or process').default('process'),
  device: z.enum(DEVICES, `give one of ${DEVICES.join(', ')}`).default('cpu'),
  workers: numberSchema.pipe(z.int().min(1)).optional(),
  'max-waiting': numberSchema.pipe(z.int().min(1)).optional(),
  'max-connections': numberSchema.pipe(z.int().min(1)).optional(),
});
/** What is only for several processes, and why it is nothing without a database. */
const NEED_DATABASE = {
  role: 'processes of several roles share a database; add --database, or leave --role away: one process does both',
  schema: 'only a database has one; add --database',
  jobs: 'without a database every account has one job at a time; add --database, or leave --jobs away',
  connections: 'only a database has any; add --database',
} as const;

const serveSchema = serveFields.superRefine((settings, context) => {
  if (settings.database !== undefined) return;
  for (const name of ['role', 'schema', 'jobs', 'connections'] as const) {
    if (settings[name] === undefined) continue;
    context.addIssue({ code: 'custom', path: [name], message: NEED_DATABASE[name] });
  }
});
/** What `orchard serve` is told. */
export type ServeSettings = z.infer<typeof serveSchema>;

const newKeySchema = z.strictObject({
  'app-id': accountSchema.shape.app_id,
  keys: z.string().min(1),
  tier: accountSchema.shape.tier.default('pro'),
});
export type NewKeySettings = z.infer<typeof newKeySchema>;

const text = { type: 'string' } as const;
const onOff = { type: 'boolean' } as const;

/**
 * @param environment where ORCHARD_DATABASE and ORCHARD_DEVICE may be.
 * @throws ValidationError
 */
export function serveSettings(args: string[], environment: NodeJS.ProcessEnv = {}): ServeSettings {
  const options = {
    host: text,
    port: text,
    data: text,
    database: text,
    schema: text,
    role: text,
    jobs: text,
    connections: text,
    keys: text,
    'operator-keys': text,
    'requests-per-minute': text,
    quota: text,
    'wrong-keys-per-minute': text,
    'trust-proxy': onOff,
    'allow-private-addresses': onOff,
    isolation: text,
    device: text,
    workers: text,
    'max-waiting': text,
    'max-connections': text,
  };
  const { ORCHARD_DATABASE: database, ORCHARD_DEVICE: device } = environment;
  const given = { ...(database && { database }), ...(device && { device }) };
  return validate(serveSchema, { ...given, ...parsed({ args, options }) });
}

/** @throws ValidationError */
export function newKeySettings(args: string[]): NewKeySettings {
  const options = { 'app-id': text, keys: text, tier: text };
  return validate(newKeySchema, parsed({ args, options }));
}

/** Of a command that takes none. @throws ValidationError */
export function noSettings(args: string[]): void {
  parsed({ args, options: {} });
}

function parsed(config: ParseArgsConfig): object {
  try {
    return { ...parseArgs(config).values };
  } catch (thrown) {
    const msg = thrown instanceof Error ? thrown.message : String(thrown);
    throw new ValidationError([{ loc: ['command line'], msg, type: 'arguments' }]);
  }
}
