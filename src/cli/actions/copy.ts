import * as z from 'zod';
import { copyToDatabase } from '../../http/index.js';
import type { CopiedStorage } from '../../trainer/index.js';
import { checked } from '../checked.js';
import type { CommandRun } from '../command-definition.js';
import { databaseSchema, dataSchema, schemaNameSchema } from './shared-settings.js';
import { grouped } from './table.js';

const copySchema = z.strictObject({
  data: dataSchema,
  database: databaseSchema,
  schema: schemaNameSchema.default('orchard'),
});

/** `orchard copy` */
export async function copy({ given, terminal, output, isJson }: CommandRun): Promise<number> {
  const { ORCHARD_DATABASE: database } = terminal.env;
  const place = checked(copySchema, { ...(database && { database }), ...given });
  const copied = await copyToDatabase(place);
  if (isJson) await output.json(copied);
  else await output.line(told(copied, place));
  return 0;
}

function told(
  { sha256, ...counts }: CopiedStorage,
  { data, schema }: { readonly data: string; readonly schema: string },
): string {
  const { accounts, records, jobs, folders, files, bytes, unfinished, local_datasets } = counts;
  const lines = [
    `copied ${data} to the schema ${schema}: ${accounts} accounts, ${jobs} jobs and models, ${grouped(records)} records, ${folders} folders with ${files} files of ${grouped(bytes)} bytes`,
    `both sides were read again and are the same: records ${sha256.records}, files ${sha256.files}`,
  ];
  if (unfinished > 0)
    lines.push(`${unfinished} jobs have not ended and go on with the next trainer of the database`);
  if (local_datasets > 0) {
    lines.push(
      `${local_datasets} of them have datasets in files of this machine, which trainers elsewhere need too`,
    );
  }
  return lines.join('\n');
}
