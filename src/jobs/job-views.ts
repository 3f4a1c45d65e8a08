import { createHash } from 'node:crypto';
import type { ListFilter, ModelType, TrainingJobStatus } from '../contract/index.js';
import type { JobRecord } from './job-record.js';

/**
 * The listings that jobs are kept in: those that have not ended in one, as they are few; the others by how they ended
 * (`ready`), and that once more by task (`ready-1f3c9a`). The names are short: a storage's key has 200 characters, and an
 * account and an id take up to 186.
 */
const statusViews: Readonly<Record<TrainingJobStatus, string>> = {
  CREATED: 'open',
  QUEUED: 'open',
  RUNNING: 'open',
  READY: 'ready',
  ERROR: 'error',
  CANCELLED: 'stop',
  DELETED: 'gone',
};
/** Two tasks that share these digits share views, which then have more jobs than one of them asks for. */
const TASK_DIGITS = 6;

export type JobFilter = Pick<ListFilter, 'modelType' | 'trainingStatus'>;

/** Jobs that have not ended. */
export const OPEN_VIEW = 'open';

/** The views that a job belongs to. */
export function viewsOf({ status, model_config }: JobRecord): string[] {
  const view = statusViews[status];
  return view === OPEN_VIEW ? [view] : [view, byTask(view, model_config.type)];
}

/** The views that have all jobs that a filter asks for, and maybe others; in the order of a job's life. */
export function viewsWith({ modelType, trainingStatus }: JobFilter): string[] {
  const views =
    trainingStatus === undefined ? [OPEN_VIEW, 'ready', 'error', 'stop'] : [statusViews[trainingStatus]];
  if (modelType === undefined) return views;
  return views.map((view) => (view === OPEN_VIEW ? view : byTask(view, modelType)));
}

/** Whether a filter asks for a job. DELETED ones it has to ask for by name. */
export function matches(
  { status, model_config }: JobRecord,
  { modelType, trainingStatus }: JobFilter,
): boolean {
  const hasStatus = trainingStatus === undefined ? status !== 'DELETED' : status === trainingStatus;
  return hasStatus && (modelType === undefined || taskOf(modelType) === taskOf(model_config.type));
}

function byTask(view: string, type: ModelType): string {
  const digits = createHash('sha256').update(taskOf(type)).digest('hex').slice(0, TASK_DIGITS);
  return `${view}-${digits}`;
}

/** Two model types name the same task: the documented filter knows only one of them, requests the other. */
function taskOf(type: ModelType): ModelType {
  return type === 'sequence-labeling' ? 'named-entity-recognition' : type;
}
