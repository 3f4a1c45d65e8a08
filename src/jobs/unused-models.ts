import { stat } from 'node:fs/promises';
import * as z from 'zod';
import { isOrchardError, type ModelRecord, validate } from '../contract/index.js';
import type { FolderDescription, Storage } from '../storage/index.js';
import type { AccountContext } from './account-context.js';
import { bytesIn } from './account-erasure.js';
import { timestamp } from './clock.js';
import { type DeletionContext, deleteEnded } from './delete-model.js';
import { type JobRecord, toModelRecord } from './job-record.js';

/** A READY model that had no query for some time. */
export interface UnusedModel {
  readonly model: ModelRecord;
  /** Its last use or, if there was none, when it became READY: ISO 8601, to the hour. */
  readonly unused_since: string;
  /** Size of its files. */
  readonly bytes: number;
}

export interface UnusedOptions {
  /** A model is unused after more than this many days without a query, 1 to 36,500. Default 30. */
  readonly days?: number;
}

const unusedSchema = z.strictObject({ days: z.number().min(1).max(36_500).default(30) });
const DAY_MS = 24 * 60 * 60_000;

/** @throws ValidationError */
export function unusedSettings(options: UnusedOptions): { readonly days: number } {
  return validate(unusedSchema, options);
}

export type UnusedContext = DeletionContext & Pick<AccountContext, 'clock'>;

/** The models that count as unused, newest first. A model without a record of its uses counts from the first look. */
export async function unusedModels(context: UnusedContext, days: number): Promise<UnusedModel[]> {
  const found: UnusedModel[] = [];
  for await (const unused of eachUnused(context, days)) found.push(unused);
  return found;
}

/** Deletes the unused models. @returns the deleted ones. */
export async function removeUnused(context: UnusedContext, days: number): Promise<UnusedModel[]> {
  const removed: UnusedModel[] = [];
  for await (const unused of eachUnused(context, days)) {
    const { model } = unused;
    if ((await context.jobs.find(model.id))?.status !== 'READY') continue;
    await deleteEnded(context, model.id).catch(unlessErased);
    removed.push({ ...unused, model: { ...model, training_status: 'DELETED' } });
  }
  return removed;
}

async function* eachUnused(context: UnusedContext, days: number): AsyncGenerator<UnusedModel, void, undefined> {
  const before = context.clock.now() - days * DAY_MS;
  for await (const job of context.jobs.all({ trainingStatus: 'READY' })) {
    const unused = await unusedModel(context, job, before);
    if (unused !== undefined) yield unused;
  }
}

/** @returns undefined if the model is in use. */
async function unusedModel(
  { storage, uses, clock }: UnusedContext,
  job: JobRecord,
  before: number,
): Promise<UnusedModel | undefined> {
  if (Date.parse(job.created) >= before) return undefined;
  const last = await uses.last(job.id);
  if (last === undefined) await uses.track(job.id, clock.now());
  if (last === undefined || last >= before) return undefined;
  const { publishedMs: readyAt = 0, bytes } = await describeFolder(storage, job.id);
  const since = Math.max(last, readyAt, Date.parse(job.created));
  if (since >= before) return undefined;
  return { model: toModelRecord(job), unused_since: timestamp(since), bytes };
}

/** The size of a model's files, and when it became READY. */
async function describeFolder(storage: Storage, id: string): Promise<FolderDescription> {
  const none = { bytes: 0 };
  if (storage.describeFolder !== undefined) {
    return (await storage.describeFolder?.(id)) ?? none;
  }
  const directory = await storage.openFolder(id);
  if (directory === undefined) return none;
  return { bytes: await bytesIn(directory), publishedMs: await changedAt(directory) };
}

/** When a published folder got its last file. */
async function changedAt(directory: string): Promise<number> {
  const found = await stat(directory).catch(() => undefined);
  return found?.mtimeMs ?? 0;
}

function unlessErased(thrown: unknown): void {
  if (!isOrchardError(thrown) || thrown.code !== 'not_found') throw thrown;
}
