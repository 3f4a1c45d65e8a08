import type { TrainingRequest } from '../contract/index.js';
import type { JobRecord, JobRepository, JobRequests } from '../jobs/index.js';

export interface OnceContext {
  readonly jobs: JobRepository;
  readonly requests: JobRequests;
  readonly idempotencyKey: string;
  readonly request: TrainingRequest;
  /** As it would be without an earlier request. */
  readonly job: JobRecord;
}

/**
 * Creates a job, unless the same request has done so before or does so at the same time. @returns the job's id.
 * @throws ValidationError where the key came with another request, and what `create` throws.
 */
export async function createOnce(
  { jobs, requests, idempotencyKey, request, job }: OnceContext,
  create: (job: JobRecord) => Promise<void>,
): Promise<string> {
  const id = await requests.idFor(idempotencyKey, request, job.id);
  const isThere = async () => (await jobs.find(id)) !== undefined;
  if (await isThere()) return id;
  try {
    await create({ ...job, id });
  } catch (thrown) {
    if (!(await isThere())) throw thrown; // else the same request was faster
  }
  return id;
}
