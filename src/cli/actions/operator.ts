import * as z from 'zod';
import { accountSchema } from '../../contract/index.js';
import { type DataPlace, withOperator } from '../../http/index.js';
import type { UnusedModel } from '../../trainer/index.js';
import { checked } from '../checked.js';
import type { CommandRun } from '../command-definition.js';
import { confirmed } from './confirmed.js';
import { databaseSchema, dataSchema, schemaNameSchema, withDatabase } from './shared-settings.js';
import { alignedLines, grouped } from './table.js';

/** Where the data is. */
const placeFields = {
  data: dataSchema,
  database: databaseSchema.optional(),
  schema: schemaNameSchema.optional(),
};

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
export async function erase({ given, terminal, output, isJson }: CommandRun): Promise<number> {
  const settings = checked(eraseSchema, withDatabase(given, terminal.env));
  const { yes, app_id: account, ...place } = settings;
  await withOperator(place, async (operator) => {
    if (!yes)
      await confirmed(terminal, `All data of ${account} in ${nameOf(place)} will be gone for good.`, account);
    const erased = await operator.eraseAccount(account);
    if (isJson) return output.json(erased);
    const { job_ids, folders, bytes, records, uploads } = erased;
    return output.line(
      `${account}: erased ${job_ids.length} jobs and models, ${folders} folders with ${grouped(bytes)} bytes, ${records} records, ${uploads} uploads`,
    );
  });
  return 0;
}

/** `orchard unused` */
export async function unused({ given, terminal, output, isJson }: CommandRun): Promise<number> {
  const { days, remove, yes, ...place } = checked(unusedSchema, withDatabase(given, terminal.env));
  await withOperator(place, async (operator) => {
    const found = await operator.listUnusedModels({ days });
    if (!isJson) await output.line(tableOf(found, days));
    else if (!remove) for (const each of found) await output.json(each);
    if (!remove || found.length === 0) return;
    if (!yes) await confirmed(terminal, `These ${found.length} models will be gone for good.`, 'remove');
    const removed = await operator.removeUnusedModels({ days });
    if (isJson) for (const each of removed) await output.json({ removed: each });
    else await output.line(`removed ${removed.length} models, ${sizeOf(removed)} bytes`);
  });
  return 0;
}

/** A line for each model, under the names of the columns. */
function tableOf(models: readonly UnusedModel[], days: number): string {
  if (models.length === 0) return `no model was left unasked for more than ${days} days`;
  const rows = models.map(({ model, unused_since, bytes }) => [
    model.app_id,
    model.id,
    model.name,
    unused_since.slice(0, 10),
    grouped(bytes),
  ]);
  const lines = alignedLines([['account', 'model', 'name', 'unused since', 'bytes'], ...rows]);
  return [...lines, `${models.length} models, ${sizeOf(models)} bytes`].join('\n');
}

function sizeOf(models: readonly UnusedModel[]): string {
  return grouped(models.reduce((sum, { bytes }) => sum + bytes, 0));
}

/** What a question calls it: of a database, nothing that tells a password. */
function nameOf({ data, database, schema = 'orchard' }: DataPlace): string {
  return database === undefined ? data : `the schema ${schema} of the database`;
}
