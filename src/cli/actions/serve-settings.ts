import * as z from 'zod';
import { DEVICES } from '../../device-names.js';
import { checked } from '../checked.js';
import { databaseSchema, dataSchema, numberSchema, schemaNameSchema } from './shared-settings.js';

const quotaSchema = z
  .string()
  .regex(/^[1-9]\d{0,11}\/(day|month)$/, 'give inference calls and their period: 10000/month, 500/day')
  .transform((quota): { calls: number; per: 'day' | 'month' } => ({
    calls: Number.parseInt(quota, 10),
    per: quota.endsWith('/day') ? 'day' : 'month',
  }));

const serveFields = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  port: numberSchema.pipe(z.int().max(65_535)).default(8080),
  data: dataSchema,
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

/**
 * @param given options as they are typed.
 * @param environment where ORCHARD_DATABASE and ORCHARD_DEVICE may be.
 * @throws UsageError
 */
export function serveSettings(given: object, environment: NodeJS.ProcessEnv = {}): ServeSettings {
  const { ORCHARD_DATABASE: database, ORCHARD_DEVICE: device } = environment;
  return checked(serveSchema, { ...(database && { database }), ...(device && { device }), ...given });
}
