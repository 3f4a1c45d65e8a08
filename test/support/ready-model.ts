import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { JobRepository, newJobRecord } from '../../src/jobs/index.js';
import type { Storage } from '../../src/storage/index.js';
import { aRequest } from '../jobs/request.js';
import { temporaryDirectory } from './temporary-directory.js';
import { tinyCatalogue } from './tiny-catalogue.js';

const id = '0190a6f0-0000-7000-8000-000000000001';

/** Puts a tiny classifier into a storage, as a training job that has ended leaves it. @returns its id. */
export async function aReadyModelIn(storage: Storage, app_id: string): Promise<string> {
  const created = '2026-11-21T08:15:30.123+00:00';
  const job = newJobRecord(aRequest, { id, app_id, created, seed: 1 });
  await new JobRepository(storage, app_id).create({ ...job, status: 'READY' });
  const catalogue = await tinyCatalogue(temporaryDirectory(), { any: ['a', 'b', 'c'] });
  await cp(join(catalogue, 'any'), await storage.stageFolder(id), { recursive: true });
  await storage.publishFolder(id);
  return id;
}
