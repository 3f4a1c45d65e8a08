import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';

export const ZIP_EXTENSION = '.zip';
const MARK_LENGTH = 16;

/** The name of an uploaded zip, which begins with a mark of its account: so an erasure finds all that are the account's. */
export function uploadFileName(app_id: string, id: string): string {
  return `${markOf(app_id)}-${id}${ZIP_EXTENSION}`;
}

/** What is kept beside an upload that a job has taken. */
const ownerSchema = z.object({ account: z.object({ app_id: z.string() }) });

/**
 * Removes the uploads of an account from their folder; those of earlier releases only say whose they are once a job has
 * taken them, and go an hour after their upload otherwise. @returns how many zips were removed.
 */
export async function eraseUploads(directory: string, app_id: string): Promise<number> {
  const names = await readdir(directory).catch(() => []); // there may have been none yet
  const mark = `${markOf(app_id)}-`;
  let removed = 0;
  for (const name of names.filter((each) => each.endsWith(ZIP_EXTENSION))) {
    const record = join(directory, `${name}.json`);
    if (!name.startsWith(mark) && (await ownerIn(record)) !== app_id) continue;
    await rm(join(directory, name), { force: true });
    await rm(record, { force: true });
    removed += 1;
  }
  for (const name of names.filter((each) => each.startsWith(mark))) {
    await rm(join(directory, name), { force: true });
  }
  return removed;
}

function markOf(app_id: string): string {
  return createHash('sha256').update(app_id).digest('hex').slice(0, MARK_LENGTH);
}

async function ownerIn(record: string): Promise<string | undefined> {
  try {
    return ownerSchema.parse(JSON.parse(await readFile(record, 'utf8'))).account.app_id;
  } catch {
    return undefined;
  }
}
