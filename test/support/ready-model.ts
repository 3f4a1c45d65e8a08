import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import type { ModelType } from '../../src/contract/index.js';
import { JobRepository, newJobRecord } from '../../src/jobs/index.js';
import type { Storage } from '../../src/storage/index.js';
import { aRequest } from '../jobs/request.js';
import { temporaryDirectory } from './temporary-directory.js';
import { type Labels, tinyCatalogue } from './tiny-catalogue.js';

const FIRST_ID = '0190a6f0-0000-7000-8000-000000000001';

interface ReadyModel {
  readonly id?: string;
  readonly labels?: Labels;
  /** What its job says, whatever the model is. */
  readonly type?: ModelType;
  /** The model. Default: a tiny classifier. */
  readonly folder?: string;
}

/** Puts a model into a storage, as a training job that has ended leaves it. @returns its id. */
export async function aReadyModelIn(
  storage: Storage,
  app_id: string,
  { id = FIRST_ID, labels = ['a', 'b', 'c'], type = aRequest.model_config.type, folder }: ReadyModel = {},
): Promise<string> {
  const created = '2026-11-21T08:15:30.123+00:00';
  const request = { ...aRequest, model_config: { ...aRequest.model_config, type } };
  const job = newJobRecord(request, { id, app_id, created, seed: 1 });
  await new JobRepository(storage, app_id).create({ ...job, status: 'READY' });
  const model = folder ?? join(await tinyCatalogue(temporaryDirectory(), { any: labels }), 'any');
  await cp(model, await storage.stageFolder(id), { recursive: true });
  await storage.publishFolder(id);
  return id;
}
