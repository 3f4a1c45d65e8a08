import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ValidationError } from '../errors.js';
import { type CopiedStorage, copyStorage } from '../trainer/index.js';
import { type OperatorServices, operatorServices } from './operator-services.js';
import { databaseBackend } from './roles/database-backend.js';
import { folderBackend } from './roles/folder-backend.js';
import { outcomeOf } from './services.js';
import { eraseUploads } from './upload-files.js';

/** Where the data of a service is: in a database if one is named, else in the folder. */
export interface DataPlace {
  readonly data: string;
  readonly database?: string | undefined;
  /** Of the database. Default orchard. */
  readonly schema?: string | undefined;
}

/**
 * Works as an operator on the data of a service, also while it serves.
 * @throws ValidationError for a folder that has none; StorageError; what the work throws
 */
export async function withOperator<Value>(
  { data, database, schema }: DataPlace,
  work: (operator: OperatorServices) => Promise<Value>,
): Promise<Value> {
  if (database === undefined) checkData(data);
  const backend = database === undefined ? folderBackend(data) : await databaseBackend({ database, schema });
  const { storage, queue, uploads, forget } = backend;
  const inFolder = (app_id: string) =>
    uploads === 'storage' ? Promise.resolve(0) : eraseUploads(uploads.directory, app_id);
  try {
    return await work(operatorServices({ storage, queue, forget, eraseUploads: inFolder }));
  } finally {
    await backend.close();
  }
}

/**
 * Copies the jobs and models of a folder into an empty schema of a database, and compares both by hash.
 * @throws ValidationError for a folder that has none; StorageError
 */
export async function copyToDatabase({
  data,
  database,
  schema,
}: DataPlace & { readonly database: string }): Promise<CopiedStorage> {
  checkData(data);
  const source = folderBackend(data);
  try {
    const target = await databaseBackend({ database, schema });
    try {
      const { storage: to, queue } = target;
      return await outcomeOf(copyStorage({ from: source.storage, to, ...(queue && { queue }) }));
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

function checkData(data: string): void {
  if (existsSync(join(data, 'records'))) return;
  const msg = `${data} has no jobs and models of orchard serve`;
  throw new ValidationError([{ loc: ['data'], msg, type: 'arguments' }]);
}
