import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { accountSchema, validate } from '../contract/index.js';
import { ValidationError } from '../errors.js';
import type { UnusedModel } from '../trainer/index.js';
import { databaseSchema, schemaNameSchema } from './command-options.js';
import { type OperatorServices, operatorServices } from './operator-services.js';
import { databaseBackend } from './roles/database-backend.js';
import { folderBackend } from './roles/folder-backend.js';
import { eraseUploads } from './upload-files.js';

export const OPERATOR_USAGE = `  orchard erase <app_id> [--data <folder>] [--yes]
                                      removes all data of an account, after asking; take its keys away first
  orchard unused [--data <folder>] [--days <number>] [--remove] [--yes]
                                      lists the models that nobody asked for more days (30), or removes them, after asking
                                      both take --database and --schema as serve does, in place of --data
`;

/** Where the data is. */
const placeFields = {
  data: z.string().min(1).default('./orchard-data'),
  database: databaseSchema.optional(),
  schema: schemaNameSchema.optional(),
};
type Place = z.infer<z.ZodObject<typeof placeFields>>;

const yesSchema = z.boolean().default(false);
const eraseSchema = z.strictObject({
  ...placeFields,
  app_id: accountSchema.shape.app_id,
  yes: yesSchema,
});
const unusedSchema = z.strictObject({
  ...placeFields,
  yes: yesSchema,
  remove: z.boolean().default(false),
  days: z
    .string()
    .regex(/^\d{1,5}$/, 'give whole days, 1 to 36500')
    .transform(Number)
    .default(30),
});

/** `orchard erase <app_id>` */
export async function eraseCommand(args: string[]): Promise<void> {
  const { values, positionals } = parsed(args, PLACE, ['yes']);
  const [app_id, ...others] = positionals;
  if (others.length > 0) throw wrong('<app_id>', `one account at a time, not also ${others.join(', ')}`);
  const { yes, app_id: account, ...place } = validate(eraseSchema, { app_id, ...values });
  await withData(place, async (operator) => {
    if (!yes) await confirmed(`All data of ${account} in ${nameOf(place)} will be gone for good.`, account);
    const { job_ids, folders, bytes, records, uploads } = await operator.eraseAccount(account);
    console.log(
      `${account}: erased ${job_ids.length} jobs and models, ${folders} folders with ${bytes.toLocaleString('en-US')} bytes, ${records} records, ${uploads} uploads`,
    );
  });
}

/** `orchard unused` */
export async function unusedCommand(args: string[]): Promise<void> {
  const { values } = parsed(args, [...PLACE, 'days'], ['yes', 'remove']);
  const { days, remove, yes, ...place } = validate(unusedSchema, values);
  await withData(place, async (operator) => {
    const unused = await operator.listUnusedModels({ days });
    console.log(tableOf(unused, days));
    if (!remove || unused.length === 0) return;
    if (!yes) await confirmed(`These ${unused.length} models will be gone for good.`, 'remove');
    const removed = await operator.removeUnusedModels({ days });
    console.log(`removed ${removed.length} models, ${sizeOf(removed)} bytes`);
  });
}

/** A line for each model, under the names of the columns. */
export function tableOf(unused: readonly UnusedModel[], days: number): string {
  if (unused.length === 0) return `no model was left unasked for more than ${days} days`;
  const rows = unused.map(({ model, unused_since, bytes }) => [
    model.app_id,
    model.id,
    model.name,
    unused_since.slice(0, 10),
    bytes.toLocaleString('en-US'),
  ]);
  const table = [['account', 'model', 'name', 'unused since', 'bytes'], ...rows];
  const widths = [0, 1, 2, 3, 4].map((at) => Math.max(...table.map((row) => row[at]?.length ?? 0)));
  const lines = table.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [...lines, `${unused.length} models, ${sizeOf(unused)} bytes`].join('\n');
}

function sizeOf(models: readonly UnusedModel[]): string {
  return models.reduce((sum, { bytes }) => sum + bytes, 0).toLocaleString('en-US');
}

const PLACE = ['data', 'database', 'schema'] as const;

/** What a question calls it: of a database, nothing that tells a password. */
function nameOf({ data, database, schema = 'orchard' }: Place): string {
  return database === undefined ? data : `the schema ${schema} of the database`;
}

async function withData(place: Place, work: (operator: OperatorServices) => Promise<void>): Promise<void> {
  const { data, database, schema } = place;
  if (database === undefined && !existsSync(join(data, 'records')))
    throw wrong('data', `${data} has no jobs and models of orchard serve`);
  const backend = database === undefined ? folderBackend(data) : await databaseBackend({ database, schema });
  const { storage, queue, uploads, forget } = backend;
  const inFolder = (app_id: string) =>
    uploads === 'storage' ? Promise.resolve(0) : eraseUploads(uploads.directory, app_id);
  try {
    await work(operatorServices({ storage, queue, forget, eraseUploads: inFolder }));
  } finally {
    await backend.close();
  }
}

/** Asks on the terminal. @throws ValidationError where the answer is another, or there is nobody to ask */
async function confirmed(what: string, expected: string): Promise<void> {
  if (!process.stdin.isTTY) throw wrong('--yes', `${what} Say --yes, as there is no terminal to ask at`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${what} Type ${expected} to go on: `);
    if (answer !== expected)
      throw wrong('confirmation', `${JSON.stringify(answer)} is another answer; nothing was done`);
  } finally {
    terminal.close();
  }
}

function parsed(args: string[], texts: readonly string[], flags: readonly string[]) {
  const options = {
    ...Object.fromEntries(texts.map((name) => [name, { type: 'string' as const }])),
    ...Object.fromEntries(flags.map((name) => [name, { type: 'boolean' as const }])),
  };
  const { ORCHARD_DATABASE: database } = process.env;
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    // A folder that is named is meant, wherever services have their data.
    const isImplied = database && values.data === undefined;
    return { values: { ...(isImplied && { database }), ...values }, positionals };
  } catch (thrown) {
    throw wrong('command line', thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function wrong(where: string, msg: string): ValidationError {
  return new ValidationError([{ loc: [where], msg, type: 'arguments' }]);
}
