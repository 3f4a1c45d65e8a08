import { stat } from 'node:fs/promises';
import type { Account, TrainingRequest } from '../contract/index.js';
import { fileKind, ZIP } from '../datasets/index.js';
import type { SignalOptions } from '../trainer/index.js';
import type { BodyLimits } from './read-body.js';
import { Refusal } from './refusal.js';
import { hasRows, saveRows } from './row-uploads.js';
import { saveBody } from './save-body.js';

/** Dataset zips that accounts have sent. Each is for one job of its account, and is removed when that job has ended. */
export interface DatasetUploads {
  /** Keeps the body of a request, a zip or a file of rows. @returns what to name it by. @throws Refusal */
  save(account: Account, request: Request, limits: BodyLimits): Promise<string>;
  /**
   * Has the account's trainer train on an upload. One that isn't accepted leaves the upload for another try.
   * @throws Refusal where there is none, or a job has it. @throws what the trainer fails with
   */
  train(
    account: Account,
    id: string,
    request: Omit<TrainingRequest, 'dataset_url'>,
    options: SignalOptions,
  ): Promise<{ id: string }>;
  /** Removes all that an account has sent; its jobs must be gone by then. @returns how many zips. */
  erase(app_id: string): Promise<number>;
  /** Call it when the trainers are closed: no job reads an upload any more. Idempotent. */
  close(): Promise<void>;
}

/** How many uploads of an account may wait for a job; one more removes the oldest. */
export const MAX_WAITING_UPLOADS = 3;
/** What a process has left that took no job with it is removed by a later one. */
export const ABANDONED_AFTER_MS = 60 * 60_000;

/** What the body of a request takes at most. */
export function announcedBytes({ headers }: Request, { maxBodyBytes }: BodyLimits): number {
  const announced = headers.get('content-length') ?? '';
  return /^\d+$/.test(announced) ? Math.min(Number(announced), maxBodyBytes) : maxBodyBytes;
}

/**
 * Keeps a dataset: a zip as it is, a file of rows as the zip that is made of it.
 * @returns the bytes of the file at `path`. @throws Refusal where it is neither; then there may be a file that is to be
 *   removed
 */
export async function saveDataset(request: Request, path: string, limits: BodyLimits): Promise<number> {
  if (!hasRows(request)) return saveZip(request, path, limits);
  await saveRows(request, path, limits);
  return (await stat(path)).size;
}

async function saveZip(request: Request, path: string, limits: BodyLimits): Promise<number> {
  const bytes = await saveBody(request, path, limits);
  const kind = fileKind(path);
  if (kind === ZIP) return bytes;
  throw new Refusal(422, [{ loc: ['body'], msg: `this is ${kind}; send a zip`, type: 'not_a_zip' }]);
}

export function noUpload(): Refusal {
  const msg = 'there is no such upload, or a job has taken it; upload the zip again';
  return new Refusal(422, [{ loc: ['body', 'upload'], msg, type: 'upload' }]);
}
