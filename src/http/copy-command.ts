import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { validate } from '../contract/index.js';
import { ValidationError } from '../errors.js';
import { type CopiedStorage, copyStorage } from '../trainer/index.js';
import { databaseSchema, schemaNameSchema } from './command-options.js';
import { databaseBackend } from './roles/database-backend.js';
import { folderBackend } from './roles/folder-backend.js';
import { outcomeOf } from './services.js';

export const COPY_USAGE = `  orchard copy [--data <folder>] --database <url> [--schema <name>]
                                      copies the jobs and models of a folder into an empty schema of a database, and compares
                                      both by hash; stop the service of that folder first
`;

const copySchema = z.strictObject({
  data: z.string().min(1).default('./orchard-data'),
  database: databaseSchema,
  schema: schemaNameSchema.optional(),
});

/** `orchard copy` */
export async function copyCommand(args: string[]): Promise<void> {
  const { data, database, schema = 'orchard' } = validate(copySchema, parsed(args));
  if (!existsSync(join(data, 'records')))
    throw wrong('data', `${data} has no jobs and models of orchard serve`);
  const source = folderBackend(data);
  try {
    const target = await databaseBackend({ database, schema });
    try {
      const { storage: to, queue } = target;
      const copied = await outcomeOf(copyStorage({ from: source.storage, to, ...(queue && { queue }) }));
      console.log(told(copied, data, schema));
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

function parsed(args: string[]): object {
  const text = { type: 'string' } as const;
  const { ORCHARD_DATABASE: database } = process.env;
  try {
    const { values } = parseArgs({ args, options: { data: text, database: text, schema: text } });
    return { ...(database && { database }), ...values };
  } catch (thrown) {
    throw wrong('command line', thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function wrong(where: string, msg: string): ValidationError {
  return new ValidationError([{ loc: [where], msg, type: 'arguments' }]);
}

function told({ sha256, ...counts }: CopiedStorage, data: string, schema: string): string {
  const { accounts, records, jobs, folders, files, bytes, unfinished, local_datasets } = counts;
  const [size, numbers] = [bytes.toLocaleString('en-US'), records.toLocaleString('en-US')];
  const lines = [
    `copied ${data} to the schema ${schema}: ${accounts} accounts, ${jobs} jobs and models, ${numbers} records, ${folders} folders with ${files} files of ${size} bytes`,
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
