import * as z from 'zod';

/** A whole number as it is typed. */
export const numberSchema = z
  .string()
  .regex(/^\d{1,9}$/, 'give a whole number')
  .transform(Number);

export const databaseSchema = z
  .string()
  .regex(/^postgres(ql)?:\/\/./, 'give a URL such as postgres://user@host/name');

/** As PostgreSQL takes a name without quotes. */
export const schemaNameSchema = z
  .string()
  .regex(/^[a-z_][a-z0-9_]{0,39}$/, 'give at most 40 of a–z, 0–9 and _, which begin with no digit');

/** Where `orchard serve` has its data. */
export const dataSchema = z.string().min(1).default('./orchard-data');

/** What is given and what the environment has instead: a database, unless a folder is named, which is then meant. */
export function withDatabase(
  given: Readonly<Record<string, unknown>>,
  { ORCHARD_DATABASE: database }: NodeJS.ProcessEnv,
): Readonly<Record<string, unknown>> {
  return { ...(database && given.data === undefined && { database }), ...given };
}

/** A number as it is typed, such as 0.25 or 1e-4. */
export const decimalSchema = z
  .string()
  .regex(/^\d*\.?\d+(e-?\d{1,2})?$/i, 'give a number')
  .transform(Number);

/** A share of the rows. */
export const shareSchema = decimalSchema.refine(
  (share) => share > 0 && share < 1,
  'give a number above 0 and below 1',
);
